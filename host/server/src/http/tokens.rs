//! `/v1/tokens`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{AddToken, PageQuery, TokenAdded, TokenView};

use super::decode::{Creation, Parameters, Segments, Who};
use super::encode::{Answer, created, nothing, ok};
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/tokens", "The tokens, by name", list).query::<PageQuery>().gives_page::<TokenView>(),
        Route::post("/v1/tokens", "Make a token", add)
            .takes::<AddToken>()
            .once()
            .gives::<TokenAdded>(StatusCode::CREATED),
        Route::delete("/v1/tokens/{token}", "Revoke a token, by name or id", revoke).gives_nothing(),
    ]
}

async fn list(State(app): State<Arc<App>>, Parameters(query): Parameters<PageQuery>) -> Answer {
    ok(&app.control.tokens(&query)?)
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
