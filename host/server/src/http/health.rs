//! `/v1/health`: whether anybody is there; the one answer that needs no token.

use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::encode::{Answer, ok};
use super::route::Need;
use super::{HEALTH, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(HEALTH, "Whether anybody is there", show)
            .needs(Need::Nothing)
            .gives::<Health>(StatusCode::OK),
    ]
}

/// Whether anybody is there.
#[derive(Serialize, ToSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
    /// The version of this binary.
    version: &'static str,
}

async fn show() -> Answer {
    ok(&Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}
