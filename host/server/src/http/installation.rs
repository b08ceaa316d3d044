//! The daemon as a whole: what it is, how it fares, ending it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{Check, InstallationView, SettingView};
use serde::Serialize;
use serde_json::json;

use super::decode::Nothing;
use super::encode::{Answer, json, ok};
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/installation", show),
        Route::post("/v1/shutdown", shutdown),
        Route::get("/v1/doctor", doctor),
        Route::get("/v1/config", config),
    ]
}

#[derive(Serialize)]
struct Installation<'a> {
    #[serde(flatten)]
    installation: InstallationView,
    address: &'a str,
}

async fn show(State(app): State<Arc<App>>) -> Answer {
    ok(&Installation { installation: app.control.installation(), address: &app.address })
}

async fn shutdown(State(app): State<Arc<App>>, _: Nothing) -> Answer {
    app.stop.send_replace(true);
    json(StatusCode::ACCEPTED, &json!({}))
}

#[derive(Serialize)]
struct Doctor {
    checks: Vec<Check>,
}

async fn doctor(State(app): State<Arc<App>>) -> Answer {
    ok(&Doctor { checks: app.control.doctor().await })
}

#[derive(Serialize)]
struct Config {
    settings: Vec<SettingView>,
}

async fn config(State(app): State<Arc<App>>) -> Answer {
    ok(&Config { settings: app.control.settings() })
}
