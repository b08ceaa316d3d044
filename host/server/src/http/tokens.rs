//! `/v1/tokens`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{AddToken, TokenAdded, TokenQuery, TokenView};

use super::decode::{Creation, Parameters, Segments, Who};
use super::encode::{Answer, created, nothing, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    // Whoever speaks for an account has its tokens; control looks.
    vec![
        Route::get("/v1/tokens", "The tokens of the caller's account, by name", list)
            .needs(Need::Token)
            .query::<TokenQuery>()
            .gives_page::<TokenView>(),
        Route::post("/v1/tokens", "Make a token", add)
            .needs(Need::Token)
            .takes::<AddToken>()
            .once()
            .gives::<TokenAdded>(StatusCode::CREATED),
        Route::delete("/v1/tokens/{token}", "Revoke a token, by name or id", revoke)
            .needs(Need::Token)
            .gives_nothing(),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Parameters(query): Parameters<TokenQuery>,
) -> Answer {
    ok(&app.control.tokens(&caller, &query)?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Creation(request, once): Creation<AddToken>,
) -> Answer {
    created(&app.control.add_token(&caller, request, once).await?)
}

async fn revoke(State(app): State<Arc<App>>, Who(caller): Who, Segments(token): Segments<String>) -> Answer {
    app.control.revoke_token(&caller, &token).await?;
    nothing()
}
