//! `/v1/workspaces/{w}/executions`, and what they ask people.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{ExecutionView, Resume, RunCode};
use serde::Deserialize;

use super::decode::{Json, Nothing, Parameters, Segments, Who};
use super::encode::{Answer, items, json, ok};
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/executions", list),
        Route::post("/v1/workspaces/{workspace}/executions", run),
        Route::get("/v1/workspaces/{workspace}/executions/{id}", show),
        Route::get("/v1/workspaces/{workspace}/executions/{id}/trace", trace),
        Route::post("/v1/workspaces/{workspace}/executions/{id}/resume", resume),
        Route::post("/v1/workspaces/{workspace}/executions/{id}/cancel", cancel),
        Route::post("/v1/workspaces/{workspace}/executions/{id}/rerun", rerun),
        Route::get("/v1/workspaces/{workspace}/interactions", interactions),
    ]
}

/// 202 while it waits for somebody, 200 once it has settled.
pub(super) fn answer(view: &ExecutionView) -> Answer {
    let waits = view.status == "waiting_for_interaction";
    json(if waits { StatusCode::ACCEPTED } else { StatusCode::OK }, view)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    limit: Option<usize>,
    cursor: Option<String>,
    status: Option<String>,
}

async fn list(
    State(app): State<Arc<App>>,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<ListQuery>,
) -> Answer {
    let workspace = app.control.workspace(&workspace)?;
    ok(&workspace.executions_page(query.limit, query.cursor.as_deref(), query.status.as_deref()).await?)
}

async fn run(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Json(request): Json<RunCode>,
) -> Answer {
    answer(&app.control.workspace(&workspace)?.run(&caller, request).await?)
}

async fn show(State(app): State<Arc<App>>, Segments((workspace, id)): Segments<(String, String)>) -> Answer {
    ok(&app.control.workspace(&workspace)?.execution(&id).await?)
}

async fn trace(State(app): State<Arc<App>>, Segments((workspace, id)): Segments<(String, String)>) -> Answer {
    ok(&app.control.workspace(&workspace)?.trace(&id).await?)
}

async fn resume(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
    Json(request): Json<Resume>,
) -> Answer {
    answer(&app.control.workspace(&workspace)?.resume(&caller, &id, request).await?)
}

async fn cancel(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
    _: Nothing,
) -> Answer {
    answer(&app.control.workspace(&workspace)?.cancel(&caller, &id).await?)
}

async fn rerun(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
    _: Nothing,
) -> Answer {
    answer(&app.control.workspace(&workspace)?.rerun(&caller, &id).await?)
}

async fn interactions(State(app): State<Arc<App>>, Segments(workspace): Segments<String>) -> Answer {
    items(app.control.workspace(&workspace)?.interactions()?)
}
