//! `/v1/workspaces/{w}/tools`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{
    CallTool, Capability, DescribeOptions, DryRunView, ExecutionView, ToolDescription, ToolPage, ToolQuery,
};

use super::decode::{Creation, Parameters, Segments, Who};
use super::encode::{Answer, ok};
use super::executions::answer;
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    let call_need = Need::Capability(Capability::Call);
    vec![
        Route::get("/v1/workspaces/{workspace}/tools", "Search the catalogue", search)
            .needs(Need::Look)
            .query::<ToolQuery>()
            .gives::<ToolPage>(StatusCode::OK),
        Route::get("/v1/workspaces/{workspace}/tools/{path}", "How a tool is called", describe)
            .needs(Need::Look)
            .query::<DescribeOptions>()
            .gives::<ToolDescription>(StatusCode::OK),
        Route::post(
            "/v1/workspaces/{workspace}/tools/{path}/call",
            "Call a tool, or show what a call would send",
            call,
        )
        .cancellable()
        .needs(call_need)
        .takes::<CallTool>()
        .once()
        .gives_either::<ExecutionView, DryRunView>(StatusCode::OK)
        .gives::<ExecutionView>(StatusCode::ACCEPTED),
    ]
}

async fn search(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<ToolQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.search_tools(&caller, query).await?)
}

async fn describe(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, path)): Segments<(String, String)>,
    Parameters(options): Parameters<DescribeOptions>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.describe_tool(&caller, &path, options).await?)
}

async fn call(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, path)): Segments<(String, String)>,
    Creation(request, once): Creation<CallTool>,
) -> Answer {
    let workspace = app.control.workspace(&caller, &workspace)?;
    let request = CallTool { path, ..request };
    if request.dry_run {
        return ok(&workspace.dry_run(&caller, request).await?);
    }
    answer(&workspace.call_tool(&caller, request, once).await?)
}
