//! `/v1/workspaces/{w}/sources`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use executor_control::{AddSource, SourceInput};

use super::decode::{Json, LargeJson, Nothing, Segments, Who};
use super::encode::{Answer, items, nothing, ok};
use super::{App, Route, stream};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/sources", list),
        Route::post("/v1/workspaces/{workspace}/sources", add),
        Route::post("/v1/workspaces/{workspace}/sources/detect", detect),
        Route::get("/v1/workspaces/{workspace}/sources/{source}", show),
        Route::delete("/v1/workspaces/{workspace}/sources/{source}", remove),
        Route::post("/v1/workspaces/{workspace}/sources/{source}/refresh", refresh),
    ]
}

async fn list(State(app): State<Arc<App>>, Segments(workspace): Segments<String>) -> Answer {
    items(app.control.workspace(&workspace)?.sources()?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    headers: HeaderMap,
    Json(request): LargeJson<AddSource>,
) -> Answer {
    let workspace = app.control.workspace(&workspace)?;
    let work = |progress| async move { workspace.add_source(&caller, request, progress).await };
    stream::answer(&headers, StatusCode::CREATED, work).await
}

async fn detect(
    State(app): State<Arc<App>>,
    Segments(workspace): Segments<String>,
    Json(input): LargeJson<SourceInput>,
) -> Answer {
    items(app.control.workspace(&workspace)?.detect(input).await?)
}

async fn show(
    State(app): State<Arc<App>>,
    Segments((workspace, source)): Segments<(String, String)>,
) -> Answer {
    ok(&app.control.workspace(&workspace)?.source(&source)?)
}

async fn refresh(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source)): Segments<(String, String)>,
    headers: HeaderMap,
    _: Nothing,
) -> Answer {
    let workspace = app.control.workspace(&workspace)?;
    let work = |progress| async move { workspace.refresh_source(&caller, &source, progress).await };
    stream::answer(&headers, StatusCode::OK, work).await
}

async fn remove(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source)): Segments<(String, String)>,
) -> Answer {
    app.control.workspace(&workspace)?.remove_source(&caller, &source).await?;
    nothing()
}
