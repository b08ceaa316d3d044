//! Issues, which pull requests are too.

use serde_json::{Value, json};

use super::accounts::set;
use super::answers::{Answer, created, no_content, ok};
use super::call::{Call, Route};
use super::clock::Timestamp;
use super::fields::Fields;
use super::listing;
use super::pages;
use super::reactions::{Subject, render_rollup};
use super::refusals::Refusal;
use super::repositories::{Repository, RepositoryId};
use super::state::{World, node_id};

const LOCK_REASONS: &[&str] = &["off-topic", "too heated", "resolved", "spam"];

#[derive(Debug)]
pub(crate) struct Issue {
    pub(crate) id: u64,
    pub(crate) number: u32,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    /// A login.
    pub(crate) author: String,
    pub(crate) assignees: Vec<String>,
    /// Names in lower case.
    pub(crate) labels: Vec<String>,
    pub(crate) milestone: Option<u32>,
    pub(crate) locked: bool,
    pub(crate) lock_reason: Option<&'static str>,
    pub(crate) state_reason: Option<&'static str>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    /// None while it is open.
    pub(crate) closed_at: Option<Timestamp>,
    pub(crate) closed_by: Option<String>,
}

impl Issue {
    pub(crate) fn state(&self) -> &'static str {
        match self.closed_at {
            None => "open",
            Some(_) => "closed",
        }
    }
}

impl Repository {
    pub(crate) fn issue(&self, number: u32) -> Result<&Issue, Refusal> {
        self.issues.get(&number).ok_or_else(Refusal::not_found)
    }

    pub(crate) fn issue_mut(&mut self, number: u32) -> Result<&mut Issue, Refusal> {
        self.issues.get_mut(&number).ok_or_else(Refusal::not_found)
    }
}

impl World {
    pub(crate) fn add_issue(
        &mut self,
        id: RepositoryId,
        author: &str,
        title: &str,
        body: Option<String>,
    ) -> u32 {
        let at = self.tick();
        let issue_id = self.next_id();
        let repository = self.repository_mut(id);
        let number = repository.next_number();
        let issue = Issue {
            id: issue_id,
            number,
            title: title.to_owned(),
            body,
            author: author.to_owned(),
            assignees: Vec::new(),
            labels: Vec::new(),
            milestone: None,
            locked: false,
            lock_reason: None,
            state_reason: None,
            created_at: at,
            updated_at: at,
            closed_at: None,
            closed_by: None,
        };
        repository.issues.insert(number, issue);
        number
    }

    pub(crate) fn render_issue(&self, repository: &Repository, issue: &Issue) -> Value {
        let url = self.url(&format!("{}/issues/{}", repository.path(), issue.number));
        let kind = match repository.pulls.contains_key(&issue.number) {
            true => "pull",
            false => "issues",
        };
        let html = self.url(&format!("/{}/{kind}/{}", repository.full_name(), issue.number));
        let comments = repository.comments.values();
        let mut value = json!({
            "id": issue.id,
            "node_id": node_id("Issue", issue.id),
            "url": url,
            "repository_url": self.url(&repository.path()),
            "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"),
            "events_url": format!("{url}/events"),
            "timeline_url": format!("{url}/timeline"),
            "html_url": html,
            "number": issue.number,
            "state": issue.state(),
            "state_reason": issue.state_reason,
            "title": issue.title,
            "body": issue.body,
            "user": self.simple_user(&issue.author),
            "labels": self.render_labels_of(repository, issue),
            "assignee": issue.assignees.first().map(|login| self.simple_user(login)),
            "assignees": self.simple_users(&issue.assignees),
            "milestone": self.render_milestone_of(repository, issue),
            "locked": issue.locked,
            "active_lock_reason": issue.lock_reason,
            "comments": comments.filter(|one| one.issue == issue.number).count(),
            "created_at": issue.created_at.text(),
            "updated_at": issue.updated_at.text(),
            "closed_at": issue.closed_at.map(Timestamp::text),
            "closed_by": issue.closed_by.as_ref().map(|login| self.simple_user(login)),
            "author_association": association(repository, &issue.author),
            "reactions": render_rollup(repository, Subject::Issue(issue.number), &url),
        });
        if let Some(pull) = repository.pulls.get(&issue.number) {
            let pulls = self.url(&format!("{}/pulls/{}", repository.path(), issue.number));
            value["pull_request"] = json!({
                "url": pulls,
                "html_url": html,
                "diff_url": format!("{html}.diff"),
                "patch_url": format!("{html}.patch"),
                "merged_at": pull.merged.as_ref().map(|merged| merged.at.text()),
            });
        }
        value
    }

    pub(crate) fn simple_users(&self, logins: &[String]) -> Vec<Value> {
        logins.iter().map(|login| self.simple_user(login)).collect()
    }

    /// Notes what is wrong with the references that an issue is to have.
    fn check_references(&self, id: RepositoryId, fields: &mut Fields, references: &References) {
        let unknown = |login: &String| self.account(login).is_err();
        if references.assignees.as_ref().is_some_and(|all| all.iter().any(unknown)) {
            fields.fail::<()>("assignees", "invalid");
        }
        let milestones = &self.repository(id).milestones;
        if let Some(Some(number)) = references.milestone
            && !milestones.contains_key(&number)
        {
            fields.fail::<()>("milestone", "invalid");
        }
    }
}

/// What an issue is to refer to, where it was sent.
#[derive(Debug)]
struct References {
    assignees: Option<Vec<String>>,
    labels: Option<Vec<String>>,
    milestone: Option<Option<u32>>,
}

impl References {
    fn of(fields: &mut Fields) -> Self {
        let one = fields.text("assignee").map(|login| vec![login]);
        Self {
            assignees: fields.texts("assignees").or(one),
            labels: fields.texts("labels"),
            milestone: fields.number_change("milestone"),
        }
    }

    fn put(self, world: &mut World, id: RepositoryId, number: u32) -> Result<(), Refusal> {
        let labels = self.labels.map(|names| world.ensure_labels(id, names));
        let issue = world.repository_mut(id).issue_mut(number)?;
        set(&mut issue.labels, labels);
        set(&mut issue.assignees, self.assignees);
        set(&mut issue.milestone, self.milestone);
        Ok(())
    }
}

pub(crate) fn association(repository: &Repository, login: &str) -> &'static str {
    match repository.owner == login {
        true => "OWNER",
        false => "NONE",
    }
}

/// `GET /repos/{owner}/{repo}/issues`
pub(crate) async fn list(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let query = &call.query;
    let state = query.get("state").unwrap_or("open");
    if !matches!(state, "open" | "closed" | "all") {
        return Err(Refusal::invalid_field("Issue", "state", "invalid"));
    }
    let labels: Vec<String> = query
        .get("labels")
        .map(|names| names.split(',').map(|one| one.trim().to_lowercase()).collect())
        .unwrap_or_default();
    let since = query.get("since").and_then(Timestamp::parse);
    let mut issues: Vec<&Issue> = repository
        .issues
        .values()
        .filter(|one| state == "all" || one.state() == state)
        .filter(|one| labels.iter().all(|label| one.labels.contains(label)))
        .filter(|one| query.get("creator").is_none_or(|login| one.author == login))
        .filter(|one| assigned(one, query.get("assignee")))
        .filter(|one| in_milestone(one, query.get("milestone")))
        .filter(|one| since.is_none_or(|since| one.updated_at >= since))
        .collect();
    let sort = query.get("sort").unwrap_or("created");
    listing::sort(&mut issues, query, false, |one| match sort {
        "updated" => one.updated_at.text(),
        "comments" => {
            let all = repository.comments.values();
            format!("{:010}", all.filter(|comment| comment.issue == one.number).count())
        }
        _ => format!("{:010}", one.number),
    });
    Ok(pages::list(&call, &issues, |issue| world.render_issue(repository, issue)))
}

fn assigned(issue: &Issue, wanted: Option<&str>) -> bool {
    match wanted {
        None => true,
        Some("*") => !issue.assignees.is_empty(),
        Some("none") => issue.assignees.is_empty(),
        Some(login) => issue.assignees.iter().any(|one| one == login),
    }
}

fn in_milestone(issue: &Issue, wanted: Option<&str>) -> bool {
    match wanted {
        None => true,
        Some("*") => issue.milestone.is_some(),
        Some("none") => issue.milestone.is_none(),
        Some(number) => issue.milestone.is_some_and(|one| number == one.to_string()),
    }
}

/// `POST /repos/{owner}/{repo}/issues`
pub(crate) async fn create(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let author = call.author()?;
    let mut world = call.world();
    let id = world.writable(&call, &owner, &name)?;
    let mut fields = Fields::of(&call, "Issue")?;
    let title = fields.required_text("title");
    let body = fields.text("body");
    let references = References::of(&mut fields);
    world.check_references(id, &mut fields, &references);
    fields.finish()?;
    let number = world.add_issue(id, author, &title, body);
    references.put(&mut world, id, number)?;
    let repository = world.repository(id);
    created(world.render_issue(repository, repository.issue(number)?))
}

/// `GET /repos/{owner}/{repo}/issues/{issue_number}`
pub(crate) async fn get(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    ok(world.render_issue(repository, repository.issue(number)?))
}

/// `PATCH /repos/{owner}/{repo}/issues/{issue_number}`
pub(crate) async fn update(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let editor = call.author()?;
    let mut world = call.world();
    let id = world.writable(&call, &owner, &name)?;
    world.repository(id).issue(number)?;
    let mut fields = Fields::of(&call, "Issue")?;
    let title = match fields.has("title") {
        true => Some(fields.required_text("title")),
        false => None,
    };
    let body = fields.text_change("body");
    let state = fields.choice("state", &["open", "closed"]);
    let reason = fields.choice("state_reason", &["completed", "not_planned", "duplicate", "reopened"]);
    let references = References::of(&mut fields);
    world.check_references(id, &mut fields, &references);
    fields.finish()?;
    references.put(&mut world, id, number)?;
    let at = world.tick();
    let issue = world.repository_mut(id).issue_mut(number)?;
    set(&mut issue.title, title);
    set(&mut issue.body, body);
    issue.updated_at = at;
    move_to(issue, state, reason, editor, at);
    let repository = world.repository(id);
    ok(world.render_issue(repository, repository.issue(number)?))
}

/// Opens or closes; says nothing where it is so already.
pub(crate) fn move_to(
    issue: &mut Issue,
    state: Option<&str>,
    reason: Option<&'static str>,
    editor: &str,
    at: Timestamp,
) {
    match (state, issue.closed_at) {
        (Some("closed"), None) => {
            issue.closed_at = Some(at);
            issue.closed_by = Some(editor.to_owned());
            issue.state_reason = reason.or(Some("completed"));
        }
        (Some("open"), Some(_)) => {
            issue.closed_at = None;
            issue.closed_by = None;
            issue.state_reason = Some("reopened");
        }
        _ => {}
    }
}

/// `PUT /repos/{owner}/{repo}/issues/{issue_number}/lock`
pub(crate) async fn lock(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    let mut fields = Fields::of(&call, "Issue")?;
    let reason = fields.choice("lock_reason", LOCK_REASONS);
    fields.finish()?;
    let issue = world.repository_mut(id).issue_mut(number)?;
    issue.locked = true;
    issue.lock_reason = reason;
    no_content()
}

/// `DELETE /repos/{owner}/{repo}/issues/{issue_number}/lock`
pub(crate) async fn unlock(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    let issue = world.repository_mut(id).issue_mut(number)?;
    issue.locked = false;
    issue.lock_reason = None;
    no_content()
}
