//! What organizations have that users have not.

use serde_json::{Value, json};

use super::accounts::{Account, Kind};
use super::answers::{Answer, ok};
use super::call::{Call, Route};
use super::refusals::Refusal;
use super::state::{World, node_id};

impl World {
    pub(crate) fn organization(&self, login: &str) -> Result<&Account, Refusal> {
        let account = self.account(login)?;
        match account.kind {
            Kind::Organization => Ok(account),
            Kind::User => Err(Refusal::not_found()),
        }
    }

    fn organization_full(&self, account: &Account) -> Value {
        let login = &account.login;
        let url = self.url(&format!("/orgs/{login}"));
        let owned = |private: bool| {
            let all = self.repositories.values();
            all.filter(|one| one.owner == *login && one.private == private).count()
        };
        json!({
            "login": login,
            "id": account.id,
            "node_id": node_id("Organization", account.id),
            "url": url,
            "repos_url": format!("{url}/repos"),
            "events_url": format!("{url}/events"),
            "hooks_url": format!("{url}/hooks"),
            "issues_url": format!("{url}/issues"),
            "members_url": format!("{url}/members{{/member}}"),
            "public_members_url": format!("{url}/public_members{{/member}}"),
            "avatar_url": self.url(&format!("/avatars/{}", account.id)),
            "description": account.bio,
            "name": account.name,
            "company": account.company.as_deref().unwrap_or_default(),
            "blog": account.blog,
            "location": account.location.as_deref().unwrap_or_default(),
            "email": account.email.as_deref().unwrap_or_default(),
            "has_organization_projects": true,
            "has_repository_projects": true,
            "public_repos": owned(false),
            "total_private_repos": owned(true),
            "public_gists": 0,
            "followers": 0,
            "following": 0,
            "html_url": self.url(&format!("/{login}")),
            "type": "Organization",
            "created_at": account.created_at.text(),
            "updated_at": account.updated_at.text(),
            "archived_at": null,
        })
    }
}

/// `GET /orgs/{org}`
pub(crate) async fn get(call: Call, Route(login): Route<String>) -> Answer {
    let world = call.world();
    ok(world.organization_full(world.organization(&login)?))
}
