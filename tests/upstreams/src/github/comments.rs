//! Comments on issues and pull requests.

use serde_json::{Value, json};

use super::answers::{Answer, created, no_content, ok};
use super::call::{Call, Route};
use super::clock::Timestamp;
use super::fields::Fields;
use super::issues::association;
use super::pages;
use super::reactions::{Subject, render_rollup};
use super::refusals::Refusal;
use super::repositories::{Repository, RepositoryId};
use super::state::{World, node_id};

#[derive(Debug)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    /// The number of the issue.
    pub(crate) issue: u32,
    /// A login.
    pub(crate) author: String,
    pub(crate) body: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

impl Repository {
    fn comment(&self, id: u64) -> Result<&Comment, Refusal> {
        self.comments.get(&id).ok_or_else(Refusal::not_found)
    }
}

impl World {
    pub(crate) fn add_comment(&mut self, id: RepositoryId, issue: u32, author: &str, body: &str) -> u64 {
        let at = self.tick();
        let comment = Comment {
            id: self.next_id(),
            issue,
            author: author.to_owned(),
            body: body.to_owned(),
            created_at: at,
            updated_at: at,
        };
        let comment_id = comment.id;
        self.repository_mut(id).comments.insert(comment_id, comment);
        comment_id
    }

    fn render_comment(&self, repository: &Repository, comment: &Comment) -> Value {
        let issue = format!("/issues/{}", comment.issue);
        let url = self.url(&format!("{}/issues/comments/{}", repository.path(), comment.id));
        let html = self.url(&format!("/{}{issue}", repository.full_name()));
        json!({
            "id": comment.id,
            "node_id": node_id("IssueComment", comment.id),
            "url": url,
            "html_url": format!("{html}#issuecomment-{}", comment.id),
            "issue_url": self.url(&format!("{}{issue}", repository.path())),
            "body": comment.body,
            "user": self.simple_user(&comment.author),
            "created_at": comment.created_at.text(),
            "updated_at": comment.updated_at.text(),
            "author_association": association(repository, &comment.author),
            "reactions": render_rollup(repository, Subject::Comment(comment.id), &url),
        })
    }

    /// The repository of a comment that the caller may change.
    fn own_comment(&self, call: &Call, owner: &str, name: &str, id: u64) -> Result<RepositoryId, Refusal> {
        let repository_id = self.writable(call, owner, name)?;
        let repository = self.repository(repository_id);
        let author = call.author()?;
        let comment = repository.comment(id)?;
        if comment.author == author || repository.owner == author || repository.of_organization {
            return Ok(repository_id);
        }
        Err(Refusal::forbidden("Must have admin rights to Repository."))
    }
}

/// `GET /repos/{owner}/{repo}/issues/{issue_number}/comments`
pub(crate) async fn list(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    repository.issue(number)?;
    let comments: Vec<&Comment> = repository.comments.values().filter(|one| one.issue == number).collect();
    Ok(pages::list(&call, &comments, |one| world.render_comment(repository, one)))
}

/// `POST /repos/{owner}/{repo}/issues/{issue_number}/comments`
pub(crate) async fn create(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let author = call.author()?;
    let mut world = call.world();
    let id = world.writable(&call, &owner, &name)?;
    let repository = world.repository(id);
    if repository.issue(number)?.locked && repository.owner != author {
        return Err(Refusal::forbidden("Unable to create comment because issue is locked."));
    }
    let mut fields = Fields::of(&call, "IssueComment")?;
    let body = fields.required_text("body");
    fields.finish()?;
    let comment = world.add_comment(id, number, author, &body);
    let repository = world.repository(id);
    created(world.render_comment(repository, repository.comment(comment)?))
}

/// `GET /repos/{owner}/{repo}/issues/comments/{comment_id}`
pub(crate) async fn get(call: Call, Route((owner, name, id)): Route<(String, String, u64)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    ok(world.render_comment(repository, repository.comment(id)?))
}

/// `PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}`
pub(crate) async fn update(call: Call, Route((owner, name, id)): Route<(String, String, u64)>) -> Answer {
    let mut world = call.world();
    let repository_id = world.own_comment(&call, &owner, &name, id)?;
    let mut fields = Fields::of(&call, "IssueComment")?;
    let body = fields.required_text("body");
    fields.finish()?;
    let at = world.tick();
    let comments = &mut world.repository_mut(repository_id).comments;
    let comment = comments.get_mut(&id).ok_or_else(Refusal::not_found)?;
    comment.body = body;
    comment.updated_at = at;
    let repository = world.repository(repository_id);
    ok(world.render_comment(repository, repository.comment(id)?))
}

/// `DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}`
pub(crate) async fn delete(call: Call, Route((owner, name, id)): Route<(String, String, u64)>) -> Answer {
    let mut world = call.world();
    let repository = world.own_comment(&call, &owner, &name, id)?;
    let repository = world.repository_mut(repository);
    repository.comments.remove(&id);
    repository.reactions.retain(|_, one| one.subject != Subject::Comment(id));
    no_content()
}
