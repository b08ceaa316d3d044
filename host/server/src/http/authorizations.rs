//! `/v1/workspaces/{w}/authorizations` and `/oauth/callback`: a person
//! authorizes a connection by OAuth.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use executor_control::{AuthorizationView, BeginAuthorization, Callback, FinishAuthorization, Problem};

use super::decode::{Json, Segments, Who};
use super::encode::{Answer, created, nothing, ok};
use super::handoffs::connected;
use super::route::Need;
use super::sign_in::again;
use super::{App, Route};
use crate::pages::Html;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/v1/workspaces/{workspace}/authorizations", "Begin to authorize a connection", begin)
            .takes::<BeginAuthorization>()
            .gives::<AuthorizationView>(StatusCode::CREATED),
        Route::get("/v1/workspaces/{workspace}/authorizations/{id}", "How an authorization stands", show)
            .gives::<AuthorizationView>(StatusCode::OK),
        Route::post(
            "/v1/workspaces/{workspace}/authorizations/{id}/finish",
            "End an authorization with the address that the browser ended at",
            finish,
        )
        .takes::<FinishAuthorization>()
        .gives::<AuthorizationView>(StatusCode::OK),
        Route::delete("/v1/workspaces/{workspace}/authorizations/{id}", "Give an authorization up", cancel)
            .gives_nothing(),
        // The state in the query is what lets in, once.
        Route::get("/oauth/callback", "Where an authorization server sends the browser back to", callback)
            .needs(Need::Nothing)
            .gives_other("text/html"),
    ]
}

async fn begin(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Json(request): Json<BeginAuthorization>,
) -> Answer {
    let workspace = app.control.workspace(&caller, &workspace)?;
    created(&workspace.begin_authorization(&caller, &app.public, request).await?)
}

async fn show(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.authorization(&id)?)
}

async fn finish(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
    Json(request): Json<FinishAuthorization>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.finish_authorization(&id, request).await?)
}

async fn cancel(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, id)): Segments<(String, String)>,
) -> Answer {
    app.control.workspace(&caller, &workspace)?.cancel_authorization(&id)?;
    nothing()
}

async fn callback(State(app): State<Arc<App>>, query: Result<Query<Callback>, QueryRejection>) -> Response {
    let callback = query.map(|Query(callback)| callback).unwrap_or_default();
    match app.control.authorization_callback(callback).await {
        Ok(connection) => connected(&connection),
        Err(problem) => failed(problem),
    }
}

fn failed(problem: Problem) -> Response {
    let body = Html::new()
        .raw("<p class=\"wrong\" role=\"alert\">")
        .text(&problem.message)
        .raw("</p><p class=\"note\">")
        .text(problem.hint.as_deref().unwrap_or_default())
        .raw("</p>");
    again(problem, "Not connected", body)
}
