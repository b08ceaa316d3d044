//! `/v1/workspaces/{w}/audit`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{AuditItem, AuditQuery, AuditVerdict, Capability};

use super::decode::{Parameters, Segments, Who};
use super::encode::{Answer, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/audit", "What was done, oldest first", list)
            .needs(Need::Capability(Capability::Read))
            .query::<AuditQuery>()
            .gives_page::<AuditItem>(),
        Route::get(
            "/v1/workspaces/{workspace}/audit/verdict",
            "Whether the audit log is what was written",
            verify,
        )
        .needs(Need::Capability(Capability::Read))
        .gives::<AuditVerdict>(StatusCode::OK),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<AuditQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.audit(&query)?)
}

async fn verify(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.verify_audit().await?)
}
