//! `/v1/workspaces/{w}/sources`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use executor_control::{
    AddSource, Capability, DefinitionView, DetectionView, DocumentQuery, PageQuery, RefreshSource,
    ReviewTools, SourceAdded, SourceDetail, SourceInput, SourceInspection, SourceRefreshed, SourceView,
    ToolsReviewed, UnreviewedTool,
};

use super::decode::{Creation, Json, LargeCreation, LargeJson, Optional, Parameters, Segments, Who};
use super::encode::{Answer, download, items, nothing, ok};
use super::route::Need;
use super::{App, Route, stream};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/sources", "The sources, by name", list)
            .needs(Need::Look)
            .query::<PageQuery>()
            .gives_page::<SourceView>(),
        Route::post("/v1/workspaces/{workspace}/sources", "Add an API as a source", add)
            .takes::<AddSource>()
            .once()
            .cancellable()
            .gives::<SourceAdded>(StatusCode::CREATED),
        Route::post("/v1/workspaces/{workspace}/sources/detect", "What a URL or document is", detect)
            .takes::<SourceInput>()
            .cancellable()
            .gives_page::<DetectionView>(),
        Route::get("/v1/workspaces/{workspace}/sources/{source}", "A source in full", show)
            .needs(Need::Look)
            .gives::<SourceDetail>(StatusCode::OK),
        Route::delete(
            "/v1/workspaces/{workspace}/sources/{source}",
            "Remove a source with its tools",
            remove,
        )
        .gives_nothing(),
        Route::post(
            "/v1/workspaces/{workspace}/sources/{source}/refresh",
            "Fetch a source's document again, or give the newer file",
            refresh,
        )
        .cancellable()
        .may_take::<RefreshSource>()
        .gives::<SourceRefreshed>(StatusCode::OK),
        Route::get(
            "/v1/workspaces/{workspace}/sources/{source}/review",
            "The writes that a refresh brought and nobody has seen",
            unreviewed,
        )
        .needs(Need::Capability(Capability::Read))
        .query::<PageQuery>()
        .gives_page::<UnreviewedTool>(),
        Route::post(
            "/v1/workspaces/{workspace}/sources/{source}/review",
            "Say that a person has seen them",
            review,
        )
        .takes::<ReviewTools>()
        .gives::<ToolsReviewed>(StatusCode::OK),
        Route::get(
            "/v1/workspaces/{workspace}/sources/{source}/inspection",
            "All that a source was made of",
            inspect,
        )
        .needs(Need::Capability(Capability::Read))
        .query::<PageQuery>()
        .gives::<SourceInspection>(StatusCode::OK),
        Route::get(
            "/v1/workspaces/{workspace}/sources/{source}/document",
            "A source's document, byte for byte",
            document,
        )
        .needs(Need::Capability(Capability::Read))
        .query::<DocumentQuery>()
        .gives_other("application/octet-stream"),
        Route::get(
            "/v1/workspaces/{workspace}/sources/{source}/definitions",
            "The schemas that a source's tools share",
            definitions,
        )
        .needs(Need::Capability(Capability::Read))
        .query::<PageQuery>()
        .gives_page::<DefinitionView>(),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.sources_page(&query)?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    headers: HeaderMap,
    Creation(request, once): LargeCreation<AddSource>,
) -> Answer {
    let workspace = app.control.workspace(&caller, &workspace)?;
    let work = |progress| async move { workspace.add_source(&caller, request, once, progress).await };
    stream::answer(&headers, StatusCode::CREATED, work).await
}

async fn detect(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    LargeJson(input): LargeJson<SourceInput>,
) -> Answer {
    items(app.control.workspace(&caller, &workspace)?.detect(input).await?)
}

async fn show(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source)): Segments<(String, String)>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.source(&source)?)
}

async fn refresh(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source)): Segments<(String, String)>,
    headers: HeaderMap,
    Optional(request): Optional<RefreshSource>,
) -> Answer {
    let workspace = app.control.workspace(&caller, &workspace)?;
    let work = |progress| async move { workspace.refresh_source(&caller, &source, request, progress).await };
    stream::answer(&headers, StatusCode::OK, work).await
}

async fn unreviewed(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source)): Segments<(String, String)>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.unreviewed_tools(&source, &query)?)
}

async fn review(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source)): Segments<(String, String)>,
    Json(request): Json<ReviewTools>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.review_tools(&caller, &source, request).await?)
}

async fn remove(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source)): Segments<(String, String)>,
) -> Answer {
    app.control.workspace(&caller, &workspace)?.remove_source(&caller, &source).await?;
    nothing()
}

async fn inspect(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source)): Segments<(String, String)>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.inspect_source(&source, &query)?)
}

async fn document(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source)): Segments<(String, String)>,
    Parameters(query): Parameters<DocumentQuery>,
) -> Answer {
    let (media_type, bytes) = app.control.workspace(&caller, &workspace)?.source_document(&source, &query)?;
    Ok(download(&media_type, bytes))
}

async fn definitions(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, source)): Segments<(String, String)>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.source_definitions(&source, &query)?)
}
