//! `/v1/workspaces/{w}/tools`.

use std::sync::Arc;

use axum::extract::State;
use executor_control::{CallTool, DescribeOptions, ToolQuery};

use super::decode::{Json, Parameters, Segments, Who};
use super::encode::{Answer, ok};
use super::executions::answer;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/tools", search),
        Route::get("/v1/workspaces/{workspace}/tools/{path}", describe),
        Route::post("/v1/workspaces/{workspace}/tools/{path}/call", call),
    ]
}

async fn search(
    State(app): State<Arc<App>>,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<ToolQuery>,
) -> Answer {
    ok(&app.control.workspace(&workspace)?.search_tools(query).await?)
}

async fn describe(
    State(app): State<Arc<App>>,
    Segments((workspace, path)): Segments<(String, String)>,
    Parameters(options): Parameters<DescribeOptions>,
) -> Answer {
    ok(&app.control.workspace(&workspace)?.describe_tool(&path, options).await?)
}

async fn call(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, path)): Segments<(String, String)>,
    Json(request): Json<CallTool>,
) -> Answer {
    let workspace = app.control.workspace(&workspace)?;
    let request = CallTool { path, ..request };
    if request.dry_run {
        return ok(&workspace.dry_run(&caller, request).await?);
    }
    answer(&workspace.call_tool(&caller, request).await?)
}
