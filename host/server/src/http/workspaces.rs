//! `/v1/workspaces`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{AddWorkspace, PageQuery, WorkspaceView};

use super::decode::{Json, Parameters, Who};
use super::encode::{Answer, created, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces", "The workspaces, by name", list)
            .needs(Need::Token)
            .query::<PageQuery>()
            .gives_page::<WorkspaceView>(),
        // In which organization is said in the body; control looks.
        Route::post("/v1/workspaces", "Make a workspace", add)
            .needs(Need::Token)
            .takes::<AddWorkspace>()
            .gives::<WorkspaceView>(StatusCode::CREATED),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspaces(&caller, &query)?)
}

async fn add(State(app): State<Arc<App>>, Who(caller): Who, Json(request): Json<AddWorkspace>) -> Answer {
    created(&app.control.add_workspace(&caller, request).await?)
}
