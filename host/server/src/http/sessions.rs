//! `/v1/sessions`: signing in with a password, and out.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{HeaderValue, SET_COOKIE};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use executor_control::{PageQuery, SessionView, SignIn, SignedIn};

use super::decode::{MaybeWho, Parameters, Segments, Small, Via, Who};
use super::encode::{Answer, created, nothing, ok};
use super::failure::Failure;
use super::route::Need;
use super::{App, Route, sign_in};
use crate::access::SESSION_COOKIE;
use crate::pages;

/// Where one signs in.
pub(super) const PATH: &str = "/v1/sessions";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(PATH, "The caller's sessions, oldest first", list)
            .needs(Need::Token)
            .query::<PageQuery>()
            .gives_page::<SessionView>(),
        Route::post(PATH, "Sign in: the answer sets the cookie", begin)
            .needs(Need::Nothing)
            .takes::<SignIn>()
            .gives::<SessionView>(StatusCode::CREATED),
        Route::delete("/v1/sessions/{session}", "Sign out: `current`, or a session's id", end)
            .needs(Need::Token)
            .gives_nothing(),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.sessions(&caller, &query)?)
}

async fn begin(
    State(app): State<Arc<App>>,
    MaybeWho(before): MaybeWho,
    via: Via,
    Small { value: request, form }: Small<SignIn>,
) -> Answer {
    let shown = request.account.clone();
    let signed_in = match app.control.sign_in(request, &via.client, &via.peer).await {
        Ok(signed_in) => signed_in,
        Err(problem) if form => return Ok(sign_in::refused(&shown, problem)),
        Err(problem) => return Err(problem.into()),
    };
    // Whoever signs in anew in one browser leaves nothing of before behind.
    if let Some(before) = before
        && before.signed_in()
    {
        app.control.end_session(&before, "current").await?;
    }
    let mut response = if form { pages::see(sign_in::PATH) } else { created(&signed_in.session)? };
    response.headers_mut().insert(SET_COOKIE, cookie(&signed_in, app.sealed)?);
    Ok(response)
}

async fn end(State(app): State<Arc<App>>, Who(caller): Who, Segments(session): Segments<String>) -> Answer {
    app.control.end_session(&caller, &session).await?;
    let mut response = nothing()?;
    if session == "current" {
        forget(&mut response, app.sealed);
    }
    Ok(response)
}

/// What makes the browser forget the cookie.
pub(super) fn forget(response: &mut Response, sealed: bool) {
    let text = if sealed {
        HeaderValue::from_static("executor_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0; Secure")
    } else {
        HeaderValue::from_static("executor_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")
    };
    response.headers_mut().insert(SET_COOKIE, text);
}

/// The cookie of a session: no script reads it, no other site makes a browser
/// send it, and where the way is sealed it takes no other.
fn cookie(signed_in: &SignedIn, sealed: bool) -> Result<HeaderValue, Failure> {
    let SignedIn { secret, lifetime_seconds, .. } = signed_in;
    let secure = if sealed { "; Secure" } else { "" };
    let text = format!(
        "{SESSION_COOKIE}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={lifetime_seconds}{secure}"
    );
    HeaderValue::try_from(text).map_err(|error| Failure::broken(&error.to_string()))
}

/// Whether a method changes nothing (RFC 9110, 9.2.1).
pub(crate) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}
