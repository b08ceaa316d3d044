//! The daemon as a whole: what it is, how it fares, ending it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{Check, InstallationView, SettingView};
use serde::Serialize;
use utoipa::ToSchema;

use super::decode::{Nothing, Who};
use super::encode::{Answer, json, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/installation", "The daemon as a whole", show)
            .needs(Need::Token)
            .gives::<Installation>(StatusCode::OK),
        Route::post("/v1/shutdown", "End the daemon", shutdown)
            .needs(Need::Installation)
            .gives::<Ending>(StatusCode::ACCEPTED),
        Route::get("/v1/doctor", "How the daemon fares", doctor)
            .needs(Need::Installation)
            .gives::<Doctor>(StatusCode::OK),
        Route::get("/v1/config", "Every setting and where it is from", config)
            .needs(Need::Installation)
            .gives::<Config>(StatusCode::OK),
    ]
}

/// The daemon as a whole.
#[derive(Serialize, ToSchema)]
struct Installation {
    #[serde(flatten)]
    installation: InstallationView,
    /// Where it listens.
    address: String,
}

async fn show(State(app): State<Arc<App>>, Who(caller): Who) -> Answer {
    ok(&Installation { installation: app.control.installation(&caller), address: app.address.clone() })
}

/// The daemon is about to end.
#[derive(Serialize, ToSchema)]
struct Ending {}

async fn shutdown(State(app): State<Arc<App>>, _: Nothing) -> Answer {
    app.stop.send_replace(true);
    json(StatusCode::ACCEPTED, &Ending {})
}

/// What the daemon looked at.
#[derive(Serialize, ToSchema)]
struct Doctor {
    /// The checks.
    checks: Vec<Check>,
}

async fn doctor(State(app): State<Arc<App>>) -> Answer {
    ok(&Doctor { checks: app.control.doctor().await })
}

/// The settings.
#[derive(Serialize, ToSchema)]
struct Config {
    /// Each of them.
    settings: Vec<SettingView>,
}

async fn config(State(app): State<Arc<App>>) -> Answer {
    ok(&Config { settings: app.control.settings() })
}
