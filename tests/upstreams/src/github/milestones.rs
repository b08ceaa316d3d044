//! Milestones of a repository.

use serde_json::{Value, json};

use super::accounts::set;
use super::answers::{Answer, created, no_content, ok};
use super::call::{Call, Route};
use super::clock::Timestamp;
use super::fields::Fields;
use super::issues::Issue;
use super::listing;
use super::pages;
use super::refusals::Refusal;
use super::repositories::{Repository, RepositoryId};
use super::state::{World, node_id};

#[derive(Debug)]
pub(crate) struct Milestone {
    pub(crate) id: u64,
    pub(crate) number: u32,
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) due_on: Option<Timestamp>,
    /// A login.
    pub(crate) author: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    /// None while it is open.
    pub(crate) closed_at: Option<Timestamp>,
}

impl Milestone {
    fn state(&self) -> &'static str {
        match self.closed_at {
            None => "open",
            Some(_) => "closed",
        }
    }
}

impl Repository {
    fn milestone(&self, number: u32) -> Result<&Milestone, Refusal> {
        self.milestones.get(&number).ok_or_else(Refusal::not_found)
    }
}

impl World {
    pub(crate) fn add_milestone(&mut self, id: RepositoryId, author: &str, title: &str) -> u32 {
        let at = self.tick();
        let milestone_id = self.next_id();
        let milestones = &mut self.repository_mut(id).milestones;
        let number = milestones.keys().next_back().map_or(1, |last| last + 1);
        let milestone = Milestone {
            id: milestone_id,
            number,
            title: title.to_owned(),
            description: None,
            due_on: None,
            author: author.to_owned(),
            created_at: at,
            updated_at: at,
            closed_at: None,
        };
        milestones.insert(number, milestone);
        number
    }

    fn render_milestone(&self, repository: &Repository, milestone: &Milestone) -> Value {
        let number = milestone.number;
        let url = self.url(&format!("{}/milestones/{number}", repository.path()));
        let issues = || repository.issues.values().filter(|one| one.milestone == Some(number));
        json!({
            "id": milestone.id,
            "node_id": node_id("Milestone", milestone.id),
            "url": url,
            "html_url": self.url(&format!("/{}/milestone/{number}", repository.full_name())),
            "labels_url": format!("{url}/labels"),
            "number": number,
            "state": milestone.state(),
            "title": milestone.title,
            "description": milestone.description,
            "creator": self.simple_user(&milestone.author),
            "open_issues": issues().filter(|one| one.closed_at.is_none()).count(),
            "closed_issues": issues().filter(|one| one.closed_at.is_some()).count(),
            "created_at": milestone.created_at.text(),
            "updated_at": milestone.updated_at.text(),
            "closed_at": milestone.closed_at.map(Timestamp::text),
            "due_on": milestone.due_on.map(Timestamp::text),
        })
    }

    pub(crate) fn render_milestone_of(&self, repository: &Repository, issue: &Issue) -> Value {
        let milestone = issue.milestone.and_then(|number| repository.milestone(number).ok());
        milestone.map_or(Value::Null, |one| self.render_milestone(repository, one))
    }
}

/// What a milestone is to be, where it was sent.
#[derive(Debug)]
struct Change {
    description: Option<Option<String>>,
    state: Option<&'static str>,
    due_on: Option<Option<Timestamp>>,
}

impl Change {
    fn of(fields: &mut Fields) -> Self {
        let due_on = fields.text_change("due_on").map(|text| {
            let text = text?;
            let moment = Timestamp::parse(&text);
            moment.or_else(|| fields.fail("due_on", "invalid"))
        });
        Self {
            description: fields.text_change("description"),
            state: fields.choice("state", &["open", "closed"]),
            due_on,
        }
    }

    fn put(self, milestone: &mut Milestone, at: Timestamp) {
        set(&mut milestone.description, self.description);
        set(&mut milestone.due_on, self.due_on);
        match self.state {
            Some("closed") => milestone.closed_at = milestone.closed_at.or(Some(at)),
            Some(_) => milestone.closed_at = None,
            None => {}
        }
        milestone.updated_at = at;
    }
}

/// `GET /repos/{owner}/{repo}/milestones`
pub(crate) async fn list(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let state = call.query.get("state").unwrap_or("open");
    let mut milestones: Vec<&Milestone> =
        repository.milestones.values().filter(|one| state == "all" || one.state() == state).collect();
    listing::sort(&mut milestones, &call.query, true, |one| {
        let due = one.due_on.map(Timestamp::text).unwrap_or_default();
        format!("{due} {:010}", one.number)
    });
    Ok(pages::list(&call, &milestones, |one| world.render_milestone(repository, one)))
}

/// `POST /repos/{owner}/{repo}/milestones`
pub(crate) async fn create(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let author = call.author()?;
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    let mut fields = Fields::of(&call, "Milestone")?;
    let title = fields.required_text("title");
    let change = Change::of(&mut fields);
    if world.repository(id).milestones.values().any(|one| one.title == title) {
        fields.fail::<()>("title", "already_exists");
    }
    fields.finish()?;
    let number = world.add_milestone(id, author, &title);
    let milestones = &mut world.repository_mut(id).milestones;
    if let Some(milestone) = milestones.get_mut(&number) {
        change.put(milestone, milestone.created_at);
    }
    let repository = world.repository(id);
    created(world.render_milestone(repository, repository.milestone(number)?))
}

/// `GET /repos/{owner}/{repo}/milestones/{milestone_number}`
pub(crate) async fn get(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    ok(world.render_milestone(repository, repository.milestone(number)?))
}

/// `PATCH /repos/{owner}/{repo}/milestones/{milestone_number}`
pub(crate) async fn update(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    world.repository(id).milestone(number)?;
    let mut fields = Fields::of(&call, "Milestone")?;
    let title = fields.text("title");
    let change = Change::of(&mut fields);
    fields.finish()?;
    let at = world.tick();
    let milestones = &mut world.repository_mut(id).milestones;
    if let Some(milestone) = milestones.get_mut(&number) {
        set(&mut milestone.title, title);
        change.put(milestone, at);
    }
    let repository = world.repository(id);
    ok(world.render_milestone(repository, repository.milestone(number)?))
}

/// `DELETE /repos/{owner}/{repo}/milestones/{milestone_number}`
pub(crate) async fn delete(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    let repository = world.repository_mut(id);
    repository.milestones.remove(&number).ok_or_else(Refusal::not_found)?;
    for issue in repository.issues.values_mut() {
        issue.milestone = issue.milestone.filter(|held| *held != number);
    }
    no_content()
}
