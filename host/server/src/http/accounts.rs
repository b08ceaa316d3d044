//! `/v1/accounts`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{AccountView, AddAccount, PageQuery, SetPassword};

use super::decode::{Json, Parameters, Segments, Via, Who};
use super::encode::{Answer, created, nothing, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/accounts", "The accounts, by name; the caller's own, or all for an owner", list)
            .needs(Need::Token)
            .query::<PageQuery>()
            .gives_page::<AccountView>(),
        Route::post("/v1/accounts", "Make an account", add)
            .needs(Need::Installation)
            .takes::<AddAccount>()
            .gives::<AccountView>(StatusCode::CREATED),
        Route::delete("/v1/accounts/{account}", "Remove an account", remove)
            .needs(Need::Installation)
            .gives_nothing(),
        // One's own needs no capability; control looks at others'.
        Route::post("/v1/accounts/{account}/password", "Set a password", set_password)
            .needs(Need::Token)
            .takes::<SetPassword>()
            .gives_nothing(),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.accounts(&caller, &query)?)
}

async fn add(State(app): State<Arc<App>>, Who(caller): Who, Json(request): Json<AddAccount>) -> Answer {
    created(&app.control.add_account(&caller, request).await?)
}

async fn remove(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(account): Segments<String>,
) -> Answer {
    app.control.remove_account(&caller, &account).await?;
    nothing()
}

async fn set_password(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    via: Via,
    Segments(account): Segments<String>,
    Json(request): Json<SetPassword>,
) -> Answer {
    app.control.set_password(&caller, &account, request, &via.peer).await?;
    nothing()
}
