//! `/v1/workspaces/{w}/policies`.

use std::sync::Arc;

use axum::extract::State;
use executor_control::AddPolicy;
use serde::Deserialize;

use super::decode::{Json, Segments, Who};
use super::encode::{Answer, created, items, nothing, ok};
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/policies", list),
        Route::post("/v1/workspaces/{workspace}/policies", add),
        Route::post("/v1/workspaces/{workspace}/policies/test", test),
        Route::delete("/v1/workspaces/{workspace}/policies/{id}", remove),
    ]
}

async fn list(State(app): State<Arc<App>>, Segments(workspace): Segments<String>) -> Answer {
    items(app.control.workspace(&workspace)?.policies()?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Json(request): Json<AddPolicy>,
) -> Answer {
    created(&app.control.workspace(&workspace)?.add_policy(&caller, request).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TestRequest {
    path: String,
    connection: Option<String>,
}

async fn test(
    State(app): State<Arc<App>>,
    Segments(workspace): Segments<String>,
    Json(request): Json<TestRequest>,
) -> Answer {
    ok(&app.control.workspace(&workspace)?.test_policy(&request.path, request.connection.as_deref())?)
}

async fn remove(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
) -> Answer {
    app.control.workspace(&workspace)?.remove_policy(&caller, &id).await?;
    nothing()
}
