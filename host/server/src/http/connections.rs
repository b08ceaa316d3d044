//! `/v1/workspaces/{w}/connections`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{AddConnection, Capability, ConnectionCheck, ConnectionView, PageQuery};

use super::decode::{Creation, Nothing, Parameters, Segments, Who};
use super::encode::{Answer, created, nothing, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/connections", "The connections, without their values", list)
            .needs(Need::Capability(Capability::Read))
            .query::<PageQuery>()
            .gives_page::<ConnectionView>(),
        Route::post("/v1/workspaces/{workspace}/connections", "Connect a source", add)
            .takes::<AddConnection>()
            .once()
            .gives::<ConnectionView>(StatusCode::CREATED),
        Route::post(
            "/v1/workspaces/{workspace}/connections/{source}/{name}/check",
            "See whether a connection works",
            check,
        )
        .gives::<ConnectionCheck>(StatusCode::OK),
        Route::delete(
            "/v1/workspaces/{workspace}/connections/{source}/{name}",
            "Remove a connection and its values",
            remove,
        )
        .gives_nothing(),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.connections(&query)?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Creation(request, once): Creation<AddConnection>,
) -> Answer {
    created(&app.control.workspace(&caller, &workspace)?.add_connection(&caller, request, once).await?)
}

async fn check(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source, name)): Segments<(String, String, String)>,
    _: Nothing,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.check_connection(&caller, &source, &name).await?)
}

async fn remove(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source, name)): Segments<(String, String, String)>,
) -> Answer {
    app.control.workspace(&caller, &workspace)?.remove_connection(&caller, &source, &name).await?;
    nothing()
}
