//! `/v1/workspaces/{w}/executions`, and what they ask people.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{
    Capability, ExecutionQuery, ExecutionView, InteractionView, PageQuery, Resume, RunCode, TraceView,
};

use super::decode::{Creation, Json, Nothing, Parameters, Segments, Who};
use super::encode::{Answer, json, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    let call = Need::Capability(Capability::Call);
    vec![
        Route::get("/v1/workspaces/{workspace}/executions", "The executions, newest first", list)
            .needs(Need::Look)
            .query::<ExecutionQuery>()
            .gives_page::<ExecutionView>(),
        Route::post("/v1/workspaces/{workspace}/executions", "Run TypeScript against the catalogue", run)
            .needs(call)
            .takes::<RunCode>()
            .once()
            .cancellable()
            .gives::<ExecutionView>(StatusCode::OK)
            .gives::<ExecutionView>(StatusCode::ACCEPTED),
        Route::get("/v1/workspaces/{workspace}/executions/{id}", "An execution", show)
            .needs(Need::Look)
            .gives::<ExecutionView>(StatusCode::OK),
        Route::get("/v1/workspaces/{workspace}/executions/{id}/trace", "What an execution did", trace)
            .needs(Need::Look)
            .gives::<TraceView>(StatusCode::OK),
        Route::post(
            "/v1/workspaces/{workspace}/executions/{id}/resume",
            "Answer what an execution asks",
            resume,
        )
        .needs(call)
        .takes::<Resume>()
        .gives::<ExecutionView>(StatusCode::OK)
        .gives::<ExecutionView>(StatusCode::ACCEPTED),
        Route::post("/v1/workspaces/{workspace}/executions/{id}/cancel", "End an execution", cancel)
            .needs(call)
            .gives::<ExecutionView>(StatusCode::OK),
        Route::post(
            "/v1/workspaces/{workspace}/executions/{id}/rerun",
            "Run an execution's code anew",
            rerun,
        )
        .cancellable()
        .needs(call)
        .gives::<ExecutionView>(StatusCode::OK)
        .gives::<ExecutionView>(StatusCode::ACCEPTED),
        Route::get("/v1/workspaces/{workspace}/interactions", "What waits for a person", interactions)
            .needs(Need::Look)
            .query::<PageQuery>()
            .gives_page::<InteractionView>(),
    ]
}

/// 202 while it waits for somebody, 200 once it has settled.
pub(super) fn answer(view: &ExecutionView) -> Answer {
    let waits = view.status == "waiting_for_interaction";
    json(if waits { StatusCode::ACCEPTED } else { StatusCode::OK }, view)
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<ExecutionQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.executions_page(&caller, &query).await?)
}

async fn run(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Creation(request, once): Creation<RunCode>,
) -> Answer {
    answer(&app.control.workspace(&caller, &workspace)?.run(&caller, request, once).await?)
}

async fn show(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.execution(&caller, &id).await?)
}

async fn trace(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.trace(&caller, &id).await?)
}

async fn resume(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
    Json(request): Json<Resume>,
) -> Answer {
    answer(&app.control.workspace(&caller, &workspace)?.resume(&caller, &id, request).await?)
}

async fn cancel(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
    _: Nothing,
) -> Answer {
    answer(&app.control.workspace(&caller, &workspace)?.cancel(&caller, &id).await?)
}

async fn rerun(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
    _: Nothing,
) -> Answer {
    answer(&app.control.workspace(&caller, &workspace)?.rerun(&caller, &id).await?)
}

async fn interactions(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.interactions(&caller, &query)?)
}
