//! Reactions to issues and comments.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::answers::{self, Answer, created, no_content};
use super::call::{Call, Route};
use super::clock::Timestamp;
use super::fields::Fields;
use super::pages;
use super::refusals::Refusal;
use super::repositories::Repository;
use super::state::{World, node_id};

const CONTENTS: &[&str] = &["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"];

/// What was reacted to, in one repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// By number.
    Issue(u32),
    /// By id.
    Comment(u64),
}

#[derive(Debug)]
pub(crate) struct Reaction {
    pub(crate) id: u64,
    pub(crate) subject: Subject,
    /// A login.
    pub(crate) author: String,
    pub(crate) content: &'static str,
    pub(crate) created_at: Timestamp,
}

impl Repository {
    fn check_subject(&self, subject: Subject) -> Result<(), Refusal> {
        let known = match subject {
            Subject::Issue(number) => self.issues.contains_key(&number),
            Subject::Comment(id) => self.comments.contains_key(&id),
        };
        match known {
            true => Ok(()),
            false => Err(Refusal::not_found()),
        }
    }
}

/// The counts that an issue or comment carries.
pub(crate) fn render_rollup(repository: &Repository, subject: Subject, url: &str) -> Value {
    let of_subject = || repository.reactions.values().filter(|one| one.subject == subject);
    let mut fields = Map::new();
    fields.insert("url".to_owned(), json!(format!("{url}/reactions")));
    fields.insert("total_count".to_owned(), json!(of_subject().count()));
    for content in CONTENTS {
        let count = of_subject().filter(|one| one.content == *content).count();
        fields.insert((*content).to_owned(), json!(count));
    }
    Value::Object(fields)
}

fn render(world: &World, reaction: &Reaction) -> Value {
    json!({
        "id": reaction.id,
        "node_id": node_id("Reaction", reaction.id),
        "user": world.simple_user(&reaction.author),
        "content": reaction.content,
        "created_at": reaction.created_at.text(),
    })
}

fn list(call: &Call, owner: &str, name: &str, subject: Subject) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(call, owner, name)?);
    repository.check_subject(subject)?;
    let wanted = call.query.get("content");
    let reactions: Vec<&Reaction> = repository
        .reactions
        .values()
        .filter(|one| one.subject == subject && wanted.is_none_or(|content| one.content == content))
        .collect();
    Ok(pages::list(call, &reactions, |one| render(&world, one)))
}

/// 201 for a new reaction, 200 where the caller had that one already.
fn create(call: &Call, owner: &str, name: &str, subject: Subject) -> Answer {
    let author = call.author()?;
    let mut world = call.world();
    let repository_id = world.writable(call, owner, name)?;
    world.repository(repository_id).check_subject(subject)?;
    let mut fields = Fields::of(call, "Reaction")?;
    let content = fields.choice("content", CONTENTS);
    if content.is_none() && !fields.has("content") {
        fields.fail::<()>("content", "missing_field");
    }
    fields.finish()?;
    let content = content.ok_or_else(|| Refusal::invalid_field("Reaction", "content", "invalid"))?;
    let had = world
        .repository(repository_id)
        .reactions
        .values()
        .find(|one| one.subject == subject && one.author == author && one.content == content);
    if let Some(had) = had {
        return Ok(answers::json(StatusCode::OK, render(&world, had)));
    }
    let reaction = Reaction {
        id: world.next_id(),
        subject,
        author: author.to_owned(),
        content,
        created_at: world.tick(),
    };
    let rendered = render(&world, &reaction);
    world.repository_mut(repository_id).reactions.insert(reaction.id, reaction);
    created(rendered)
}

/// `GET /repos/{owner}/{repo}/issues/{issue_number}/reactions`
pub(crate) async fn list_of_issue(
    call: Call,
    Route((owner, name, number)): Route<(String, String, u32)>,
) -> Answer {
    list(&call, &owner, &name, Subject::Issue(number))
}

/// `POST /repos/{owner}/{repo}/issues/{issue_number}/reactions`
pub(crate) async fn create_for_issue(
    call: Call,
    Route((owner, name, number)): Route<(String, String, u32)>,
) -> Answer {
    create(&call, &owner, &name, Subject::Issue(number))
}

/// `GET /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions`
pub(crate) async fn list_of_comment(
    call: Call,
    Route((owner, name, id)): Route<(String, String, u64)>,
) -> Answer {
    list(&call, &owner, &name, Subject::Comment(id))
}

/// `POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions`
pub(crate) async fn create_for_comment(
    call: Call,
    Route((owner, name, id)): Route<(String, String, u64)>,
) -> Answer {
    create(&call, &owner, &name, Subject::Comment(id))
}

/// `DELETE /repos/{owner}/{repo}/issues/{issue_number}/reactions/{reaction_id}`
pub(crate) async fn delete_of_issue(
    call: Call,
    Route((owner, name, number, id)): Route<(String, String, u32, u64)>,
) -> Answer {
    let author = call.author()?;
    let mut world = call.world();
    let repository = world.writable(&call, &owner, &name)?;
    let reactions = &mut world.repository_mut(repository).reactions;
    match reactions.get(&id) {
        Some(one) if one.subject == Subject::Issue(number) && one.author == author => {
            reactions.remove(&id);
            no_content()
        }
        _ => Err(Refusal::not_found()),
    }
}
