//! `/v1/workspaces/{w}/components`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{AddComponent, Capability, ComponentView, PageQuery};

use super::decode::{Creation, LargeCreation, Parameters, Segments, Who};
use super::encode::{Answer, created, nothing, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/components", "The pinned components, by name", list)
            .needs(Need::Capability(Capability::Read))
            .query::<PageQuery>()
            .gives_page::<ComponentView>(),
        Route::post(
            "/v1/workspaces/{workspace}/components",
            "Pin a component and grant it what it may do",
            add,
        )
        .takes::<AddComponent>()
        .once()
        .gives::<ComponentView>(StatusCode::CREATED),
        Route::delete("/v1/workspaces/{workspace}/components/{name}", "Unpin a component", remove)
            .gives_nothing(),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.components(&query)?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Creation(request, once): LargeCreation<AddComponent>,
) -> Answer {
    created(&app.control.workspace(&caller, &workspace)?.add_component(&caller, request, once).await?)
}

async fn remove(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, name)): Segments<(String, String)>,
) -> Answer {
    app.control.workspace(&caller, &workspace)?.remove_component(&caller, &name).await?;
    nothing()
}
