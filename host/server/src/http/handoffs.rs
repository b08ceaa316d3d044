//! Hand-offs: asking for one, and the page on which a person enters the
//! values of a connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use executor_control::{
    AskHandoff, AuthorizationView, Capability, ConnectionView, Fulfilled, HandoffForm, HandoffView, Problem,
};

use super::decode::{Json, Segments, Small, Who};
use super::encode::{Answer, created};
use super::route::Need;
use super::sign_in::{again, wrong_line};
use super::{App, Route};
use crate::pages::{Html, page};

const TITLE: &str = "Connect a source";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/v1/workspaces/{workspace}/handoffs", "A link by which a person connects a source", ask)
            .needs(Need::Capability(Capability::Call))
            .takes::<AskHandoff>()
            .gives::<HandoffView>(StatusCode::CREATED),
        // The secret in the path is what lets in, once.
        Route::get("/handoff/{secret}", "The page of a hand-off", show)
            .needs(Need::Nothing)
            .gives_other("text/html"),
        Route::post("/handoff/{secret}", "Connect the source of a hand-off", fulfil)
            .needs(Need::Nothing)
            .gives_other("text/html"),
    ]
}

async fn ask(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Json(request): Json<AskHandoff>,
) -> Answer {
    created(&app.control.ask_handoff(&caller, &workspace, &app.public, request)?)
}

async fn show(State(app): State<Arc<App>>, Segments(secret): Segments<String>) -> Response {
    match app.control.handoff(&secret) {
        Ok(form) => page(StatusCode::OK, TITLE, asked(&form, &secret, None)),
        Err(problem) => closed(problem),
    }
}

async fn fulfil(
    State(app): State<Arc<App>>,
    Segments(secret): Segments<String>,
    Small { value: variables, .. }: Small<BTreeMap<String, String>>,
) -> Response {
    match app.control.fulfil_handoff(&secret, &app.public, variables).await {
        Ok(Fulfilled::Authorize(begun)) => page(StatusCode::OK, TITLE, onward(&begun)),
        Ok(Fulfilled::Connected(connection)) => connected(&connection),
        Err(problem) => match app.control.handoff(&secret) {
            Ok(form) => {
                let body = asked(&form, &secret, Some(&problem.message));
                again(problem, TITLE, body)
            }
            Err(problem) => closed(problem),
        },
    }
}

/// The page at which a person is done.
pub(super) fn connected(connection: &ConnectionView) -> Response {
    let body = Html::new()
        .raw("<p>")
        .text(&connection.source)
        .raw(" is connected as <b>")
        .text(&connection.name)
        .raw("</b>. You can close this page.</p>");
    page(StatusCode::OK, "Connected", body)
}

/// Where the person goes on: a link, since a form may lead to no other site.
fn onward(begun: &AuthorizationView) -> Html {
    let mut endpoints = Html::new();
    for place in
        begun.endpoints.authorization.iter().chain(&begun.endpoints.token).chain(&begun.endpoints.device)
    {
        endpoints = endpoints.raw("<li>").text(place).raw("</li>");
    }
    let mut body = Html::new()
        .raw("<p>The connection is pinned to these endpoints:</p><ul>")
        .and(endpoints)
        .raw("</ul>");
    if let Some(code) = &begun.user_code {
        body = body.raw("<p>Enter this code there: <b>").text(code).raw("</b></p>");
    }
    body.raw("<p><a rel=\"noreferrer\" href=\"")
        .text(begun.url.as_deref().unwrap_or_default())
        .raw("\">Go on to sign in</a></p>")
}

fn closed(problem: Problem) -> Response {
    let body = Html::new()
        .raw("<p>")
        .text(&problem.message)
        .raw(".</p><p class=\"note\">")
        .text(problem.hint.as_deref().unwrap_or_default())
        .raw("</p>");
    again(problem, TITLE, body)
}

/// Who asks, for what, and where the values may go; then the values.
fn asked(form: &HandoffForm, secret: &str, wrong: Option<&str>) -> Html {
    let mut origins = Html::new();
    for origin in &form.origins {
        origins = origins.raw("<li>").text(origin).raw("</li>");
    }
    let mut fields = Html::new();
    if form.method.oauth {
        fields = fields
            .raw("<p>You will sign in at its authorization server. Where that one wants it, name the application that you registered there:</p>")
            .raw("<label>Client id, if you have one<input autocomplete=\"off\" maxlength=\"4096\" name=\"client_id\"></label>")
            .raw("<label>Client secret, if it has one<input autocomplete=\"off\" maxlength=\"4096\" name=\"client_secret\" type=\"password\"></label>");
    }
    let values = form.method.variables.iter().filter(|_| !form.method.oauth);
    for variable in values {
        fields = fields
            .raw("<label>")
            .text(&variable.label)
            .raw(if variable.optional { "<input" } else { "<input required" })
            .raw(" autocomplete=\"off\" maxlength=\"65536\" name=\"")
            .text(&variable.name)
            .raw(if variable.secret { "\" type=\"password\"></label>" } else { "\"></label>" });
    }
    Html::new()
        .raw("<p><b>")
        .text(&form.asked_by)
        .raw("</b> asks you to connect <b>")
        .text(&form.source)
        .raw("</b> as <b>")
        .text(&form.name)
        .raw("</b>, by ")
        .text(&form.method.label)
        .raw(". It will not see what you enter. The values may travel to:</p><ul>")
        .and(origins)
        .raw("</ul>")
        .and(wrong_line(wrong))
        .raw("<form method=\"post\" action=\"/handoff/")
        .text(secret)
        .raw("\">")
        .and(fields)
        .raw("<button>Connect</button></form>")
}
