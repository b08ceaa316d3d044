//! Invitations: making them, and the page that each leads to.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use executor_control::{
    Accept, AddInvitation, InvitationAdded, InvitationView, JoinedView, PageQuery, Problem,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::decode::{Json, Parameters, Segments, Small, Via, Who};
use super::encode::{Answer, created, nothing, ok};
use super::route::Need;
use super::sign_in::{again, wrong_line};
use super::{App, Route, sign_in};
use crate::pages::{Html, page, see};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/organizations/{organization}/invitations", "The invitations, oldest first", list)
            .query::<PageQuery>()
            .gives_page::<InvitationView>(),
        Route::post("/v1/organizations/{organization}/invitations", "Invite somebody", add)
            .takes::<AddInvitation>()
            .gives::<InvitationMade>(StatusCode::CREATED),
        Route::delete(
            "/v1/organizations/{organization}/invitations/{id}",
            "Withdraw an invitation",
            withdraw,
        )
        .gives_nothing(),
        Route::post("/v1/invitations/{secret}/accept", "Follow an invitation", accept)
            .needs(Need::Nothing)
            .takes::<Accept>()
            .gives::<JoinedView>(StatusCode::CREATED),
        Route::get("/invite/{secret}", "The page of an invitation", show)
            .needs(Need::Nothing)
            .gives_other("text/html"),
    ]
}

/// An invitation that was made. What opens it is shown this once.
#[derive(Serialize, ToSchema)]
struct InvitationMade {
    /// The invitation.
    invitation: InvitationView,
    /// What opens it.
    secret: String,
    /// The page to give to whoever is invited.
    url: String,
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(organization): Segments<String>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.invitations(&caller, &organization, &query)?)
}

async fn add(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(organization): Segments<String>,
    Json(request): Json<AddInvitation>,
) -> Answer {
    let InvitationAdded { invitation, secret } = app.control.invite(&caller, &organization, request).await?;
    let url = format!("{}/invite/{secret}", app.public);
    created(&InvitationMade { invitation, secret, url })
}

async fn withdraw(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((organization, id)): Segments<(String, String)>,
) -> Answer {
    app.control.withdraw_invitation(&caller, &organization, &id).await?;
    nothing()
}

async fn accept(
    State(app): State<Arc<App>>,
    via: Via,
    Segments(secret): Segments<String>,
    Small { value: request, form }: Small<Accept>,
) -> Answer {
    let account = request.account.clone();
    match app.control.accept_invitation(&secret, request, &via.client, &via.peer).await {
        Ok(_) if form => Ok(see(sign_in::PATH)),
        Ok(joined) => created(&joined),
        Err(problem) if form => Ok(match app.control.open_invitation(&secret) {
            Ok(invitation) => {
                let body = invited(&invitation, &secret, &account, Some(&problem.message));
                again(problem, TITLE, body)
            }
            Err(problem) => closed(problem),
        }),
        Err(problem) => Err(problem.into()),
    }
}

const TITLE: &str = "You are invited";

async fn show(State(app): State<Arc<App>>, Segments(secret): Segments<String>) -> Response {
    match app.control.open_invitation(&secret) {
        Ok(invitation) => page(StatusCode::OK, TITLE, invited(&invitation, &secret, "", None)),
        Err(problem) => closed(problem),
    }
}

fn closed(problem: Problem) -> Response {
    let body = Html::new()
        .raw("<p>")
        .text(&problem.message)
        .raw(".</p><p class=\"note\">")
        .text(problem.hint.as_deref().unwrap_or_default())
        .raw("</p>");
    again(problem, "Invitation", body)
}

fn invited(invitation: &InvitationView, secret: &str, account: &str, wrong: Option<&str>) -> Html {
    let label = match invitation.label.as_str() {
        "" => Html::new(),
        label => Html::new().raw("<p class=\"note\">For ").text(label).raw("</p>"),
    };
    Html::new()
        .raw("<p>You are invited into the organization <b>")
        .text(&invitation.organization)
        .raw("</b> as <b>")
        .text(invitation.role.as_str())
        .raw("</b>.</p>")
        .and(label)
        .and(wrong_line(wrong))
        .raw("<form method=\"post\" action=\"/v1/invitations/")
        .text(secret)
        .raw("/accept\"><label>Account<input name=\"account\" required maxlength=\"63\" autocomplete=\"username\" autocapitalize=\"none\" value=\"")
        .text(account)
        .raw("\"></label><label>Password<input name=\"password\" type=\"password\" required minlength=\"10\" maxlength=\"256\" autocomplete=\"new-password\"></label><p class=\"note\">A new account, with a password of at least 10 characters; or one that you have, with its password.</p><button>Join</button></form>")
}
