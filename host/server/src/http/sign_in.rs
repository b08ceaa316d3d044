//! `/login`: the page on which people sign in.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use executor_control::Problem;

use super::decode::{MaybeWho, Who};
use super::encode::Answer;
use super::failure::Failure;
use super::route::Need;
use super::{App, Route, sessions};
use crate::pages::{Html, page, see};

/// Where it is.
pub(super) const PATH: &str = "/login";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(PATH, "The page on which people sign in", show)
            .needs(Need::Nothing)
            .gives_other("text/html"),
        Route::post("/logout", "What that page sends to sign out", out)
            .needs(Need::Token)
            .gives_other("text/html"),
    ]
}

async fn show(MaybeWho(caller): MaybeWho) -> Response {
    match caller {
        Some(caller) if caller.signed_in() => {
            let body = Html::new()
                .raw("<p>You are signed in as <b>")
                .text(&caller.account)
                .raw("</b>.</p><form method=\"post\" action=\"/logout\"><button>Sign out</button></form>");
            page(StatusCode::OK, "Signed in", body)
        }
        _ => page(StatusCode::OK, "Sign in", form("", None)),
    }
}

async fn out(State(app): State<Arc<App>>, Who(caller): Who) -> Answer {
    app.control.end_session(&caller, "current").await?;
    let mut response = see(PATH);
    sessions::forget(&mut response, app.sealed);
    Ok(response)
}

/// The page again, with what was wrong.
pub(super) fn refused(account: &str, problem: Problem) -> Response {
    let body = form(account, Some(&problem.message));
    again(problem, "Sign in", body)
}

/// A page in place of an error's JSON, with its status and its headers.
pub(super) fn again(problem: Problem, title: &str, body: Html) -> Response {
    let failed = Failure::from(problem).into_response();
    let mut response = page(failed.status(), title, body);
    for (name, value) in failed.headers() {
        if !response.headers().contains_key(name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

fn form(account: &str, wrong: Option<&str>) -> Html {
    Html::new()
        .and(wrong_line(wrong))
        .raw("<form method=\"post\" action=\"/v1/sessions\"><label>Account<input name=\"account\" required autocomplete=\"username\" autocapitalize=\"none\" value=\"")
        .text(account)
        .raw("\"></label><label>Password<input name=\"password\" type=\"password\" required autocomplete=\"current-password\"></label><button>Sign in</button></form>")
}

pub(super) fn wrong_line(wrong: Option<&str>) -> Html {
    match wrong {
        Some(message) => Html::new().raw("<p class=\"wrong\" role=\"alert\">").text(message).raw("</p>"),
        None => Html::new(),
    }
}
