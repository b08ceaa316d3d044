//! Branches, and merging one into another.

use http::StatusCode;
use serde_json::{Value, json};

use super::answers::{Answer, created, no_content, ok};
use super::call::{Call, Route};
use super::fields::Fields;
use super::history::{Commit, Draft, Merge};
use super::pages;
use super::refusals::Refusal;
use super::repositories::Repository;
use super::state::World;

impl Repository {
    fn branch(&self, name: &str) -> Result<&Commit, Refusal> {
        let sha = self.history.branches.get(name);
        sha.and_then(|sha| self.history.commits.get(sha))
            .ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "Branch not found"))
    }
}

fn render_short(world: &World, repository: &Repository, name: &str, sha: &str) -> Value {
    json!({
        "name": name,
        "commit": { "sha": sha, "url": world.url(&format!("{}/commits/{sha}", repository.path())) },
        "protected": false,
    })
}

/// `GET /repos/{owner}/{repo}/branches`
pub(crate) async fn list(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let wanted_protected = call.query.get("protected") == Some("true");
    let branches: Vec<(&String, &String)> = match wanted_protected {
        true => Vec::new(),
        false => repository.history.branches.iter().collect(),
    };
    Ok(pages::list(&call, &branches, |(name, sha)| render_short(&world, repository, name, sha)))
}

/// `GET /repos/{owner}/{repo}/branches/{branch}`
pub(crate) async fn get(call: Call, Route((owner, name, branch)): Route<(String, String, String)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let commit = repository.branch(&branch)?;
    let url = world.url(&format!("{}/branches/{branch}", repository.path()));
    let html = world.url(&format!("/{}/tree/{branch}", repository.full_name()));
    ok(json!({
        "name": branch,
        "commit": world.render_commit(repository, commit),
        "_links": { "html": html, "self": url },
        "protected": false,
        "protection": { "enabled": false },
        "protection_url": format!("{url}/protection"),
    }))
}

/// `POST /repos/{owner}/{repo}/merges`
pub(crate) async fn merge(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let author = call.author()?;
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    let mut fields = Fields::of(&call, "Merge")?;
    let base = fields.required_text("base");
    let head = fields.required_text("head");
    let message = fields.text("commit_message");
    fields.finish()?;
    let repository = world.repository(id);
    let missing = |what: &str| Refusal::new(StatusCode::NOT_FOUND, format!("{what} does not exist"));
    let base_sha = repository.branch(&base).map_err(|_| missing("Base"))?.sha.clone();
    let head_sha = repository.history.resolve(&head).ok_or_else(|| missing("Head"))?.sha.clone();
    let tree = match repository.history.merge(&base_sha, &head_sha) {
        Merge::Nothing => return no_content(),
        Merge::Conflict(_) => return Err(Refusal::conflict("Merge conflict")),
        Merge::Tree(tree) => tree,
    };
    let draft = Draft {
        parents: vec![base_sha, head_sha],
        message: message.unwrap_or_else(|| format!("Merge {head} into {base}")),
        author: author.to_owned(),
        at: world.tick(),
        tree,
    };
    let sha = world.repository_mut(id).history.commit(&base, draft);
    let repository = world.repository(id);
    let commit = repository.history.resolve(&sha).ok_or_else(Refusal::not_found)?;
    created(world.render_commit(repository, commit))
}
