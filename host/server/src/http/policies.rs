//! `/v1/workspaces/{w}/policies`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{AddPolicy, Capability, PageQuery, PolicyTest, PolicyView};
use serde::Deserialize;
use utoipa::ToSchema;

use super::decode::{Creation, Json, Parameters, Segments, Who};
use super::encode::{Answer, created, nothing, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    let read = Need::Capability(Capability::Read);
    vec![
        Route::get("/v1/workspaces/{workspace}/policies", "The rules, in their order", list)
            .needs(read)
            .query::<PageQuery>()
            .gives_page::<PolicyView>(),
        Route::post("/v1/workspaces/{workspace}/policies", "Add a rule", add)
            .takes::<AddPolicy>()
            .once()
            .gives::<PolicyView>(StatusCode::CREATED),
        Route::post("/v1/workspaces/{workspace}/policies/test", "Which rule decides of a tool", test)
            .needs(read)
            .takes::<TestRequest>()
            .gives::<PolicyTest>(StatusCode::OK),
        Route::delete("/v1/workspaces/{workspace}/policies/{id}", "Remove a rule", remove).gives_nothing(),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.policies(&query)?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Creation(request, once): Creation<AddPolicy>,
) -> Answer {
    created(&app.control.workspace(&caller, &workspace)?.add_policy(&caller, request, once).await?)
}

/// What to ask the rules.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TestRequest {
    /// A tool.
    path: String,
    /// A connection of its source, by name.
    connection: Option<String>,
}

async fn test(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Json(request): Json<TestRequest>,
) -> Answer {
    ok(&app
        .control
        .workspace(&caller, &workspace)?
        .test_policy(&request.path, request.connection.as_deref())?)
}

async fn remove(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
) -> Answer {
    app.control.workspace(&caller, &workspace)?.remove_policy(&caller, &id).await?;
    nothing()
}
