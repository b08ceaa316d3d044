//! `/v1/workspaces`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{AddWorkspace, Capability, PageQuery, WorkspaceView};

use super::decode::{Json, Parameters, Who};
use super::encode::{Answer, created, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces", "The workspaces, by name", list)
            .needs(Need::Capability(Capability::Call))
            .query::<PageQuery>()
            .gives_page::<WorkspaceView>(),
        Route::post("/v1/workspaces", "Make a workspace", add)
            .takes::<AddWorkspace>()
            .gives::<WorkspaceView>(StatusCode::CREATED),
    ]
}

async fn list(State(app): State<Arc<App>>, Parameters(query): Parameters<PageQuery>) -> Answer {
    ok(&app.control.workspaces(&query)?)
}

async fn add(State(app): State<Arc<App>>, Who(caller): Who, Json(request): Json<AddWorkspace>) -> Answer {
    created(&app.control.add_workspace(&caller, request).await?)
}
