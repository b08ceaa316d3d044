//! `/v1/workspaces/{w}/audit`.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use super::decode::{Parameters, Segments};
use super::encode::{Answer, ok};
use super::{App, Route};

/// Records on a page where nothing is said.
const PAGE: usize = 100;
/// Records on a page at most.
const PAGE_MAX: usize = 1_000;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get("/v1/workspaces/{workspace}/audit", list)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
}

async fn list(
    State(app): State<Arc<App>>,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<ListQuery>,
) -> Answer {
    let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    ok(&app.control.workspace(&workspace)?.audit(query.after, limit)?)
}
