//! `/v1/workspaces/{w}/connections`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{AddConnection, ConnectionCheck, ConnectionView, PageQuery};

use super::decode::{Creation, Nothing, Parameters, Segments, Who};
use super::encode::{Answer, created, nothing, ok};
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/connections", "The connections, without their values", list)
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
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspace(&workspace)?.connections(&query)?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Creation(request, once): Creation<AddConnection>,
) -> Answer {
    created(&app.control.workspace(&workspace)?.add_connection(&caller, request, once).await?)
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
