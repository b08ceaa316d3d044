//! `/v1/workspaces/{w}/components`.

use std::sync::Arc;

use axum::extract::State;
use executor_control::AddComponent;

use super::decode::{Json, LargeJson, Segments, Who};
use super::encode::{Answer, created, items, nothing};
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/components", list),
        Route::post("/v1/workspaces/{workspace}/components", add),
        Route::delete("/v1/workspaces/{workspace}/components/{name}", remove),
    ]
}

async fn list(State(app): State<Arc<App>>, Segments(workspace): Segments<String>) -> Answer {
    items(app.control.workspace(&workspace)?.components()?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Json(request): LargeJson<AddComponent>,
) -> Answer {
    created(&app.control.workspace(&workspace)?.add_component(&caller, request).await?)
}

async fn remove(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, name)): Segments<(String, String)>,
) -> Answer {
    app.control.workspace(&workspace)?.remove_component(&caller, &name).await?;
    nothing()
}
