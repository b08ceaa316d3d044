//! `/v1/workspaces/{w}/connections`.

use std::sync::Arc;

use axum::extract::State;
use executor_control::AddConnection;

use super::decode::{Json, Nothing, Segments, Who};
use super::encode::{Answer, created, items, nothing, ok};
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/connections", list),
        Route::post("/v1/workspaces/{workspace}/connections", add),
        Route::post("/v1/workspaces/{workspace}/connections/{source}/{name}/check", check),
        Route::delete("/v1/workspaces/{workspace}/connections/{source}/{name}", remove),
    ]
}

async fn list(State(app): State<Arc<App>>, Segments(workspace): Segments<String>) -> Answer {
    items(app.control.workspace(&workspace)?.connections()?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Json(request): Json<AddConnection>,
) -> Answer {
    created(&app.control.workspace(&workspace)?.add_connection(&caller, request).await?)
}

async fn check(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source, name)): Segments<(String, String, String)>,
    _: Nothing,
) -> Answer {
    ok(&app.control.workspace(&workspace)?.check_connection(&caller, &source, &name).await?)
}

async fn remove(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source, name)): Segments<(String, String, String)>,
) -> Answer {
    app.control.workspace(&workspace)?.remove_connection(&caller, &source, &name).await?;
    nothing()
}
