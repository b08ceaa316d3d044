//! `/v1/organizations`: who is in which, as what; and `/v1/me`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use executor_control::{
    AddOrganization, Capability, IdentityView, MemberView, OrganizationView, PageQuery, SetRole,
};

use super::decode::{Json, Parameters, Segments, Who};
use super::encode::{Answer, created, nothing, ok};
use super::route::Need;
use super::{App, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/me", "Who asks, and what they are where", me)
            .needs(Need::Token)
            .gives::<IdentityView>(StatusCode::OK),
        Route::get("/v1/organizations", "The caller's organizations, by name", list)
            .needs(Need::Token)
            .query::<PageQuery>()
            .gives_page::<OrganizationView>(),
        Route::post("/v1/organizations", "Make an organization", add)
            .needs(Need::Installation)
            .takes::<AddOrganization>()
            .gives::<OrganizationView>(StatusCode::CREATED),
        Route::get("/v1/organizations/{organization}/members", "Who is in it, by name", members)
            .needs(Need::Capability(Capability::Read))
            .query::<PageQuery>()
            .gives_page::<MemberView>(),
        Route::post("/v1/organizations/{organization}/members/{account}", "Change a member's role", set_role)
            .takes::<SetRole>()
            .gives::<MemberView>(StatusCode::OK),
        // Whoever leaves need not manage; control looks at the others.
        Route::delete(
            "/v1/organizations/{organization}/members/{account}",
            "Remove a member, or leave",
            remove,
        )
        .needs(Need::Token)
        .gives_nothing(),
    ]
}

async fn me(State(app): State<Arc<App>>, Who(caller): Who) -> Answer {
    ok(&app.control.identity(&caller))
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.organizations(&caller, &query)?)
}

async fn add(State(app): State<Arc<App>>, Who(caller): Who, Json(request): Json<AddOrganization>) -> Answer {
    created(&app.control.add_organization(&caller, request).await?)
}

async fn members(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(organization): Segments<String>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.members(&caller, &organization, &query)?)
}

async fn set_role(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((organization, account)): Segments<(String, String)>,
    Json(request): Json<SetRole>,
) -> Answer {
    ok(&app.control.set_role(&caller, &organization, &account, request).await?)
}

async fn remove(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((organization, account)): Segments<(String, String)>,
) -> Answer {
    app.control.remove_member(&caller, &organization, &account).await?;
    nothing()
}
