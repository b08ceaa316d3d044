//! `/v1/health`: whether anybody is there; the one answer that needs no token.

use serde::Serialize;

use super::encode::{Answer, ok};
use super::{HEALTH, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get(HEALTH, show)]
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
}

async fn show() -> Answer {
    ok(&Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}
