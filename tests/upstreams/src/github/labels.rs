//! Labels of repositories and of issues.

use http::StatusCode;
use serde_json::{Value, json};

use super::accounts::set;
use super::answers::{self, Answer, created, no_content, ok};
use super::call::{Call, Route};
use super::fields::Fields;
use super::issues::Issue;
use super::pages;
use super::refusals::Refusal;
use super::repositories::{Repository, RepositoryId};
use super::state::{World, node_id};

/// What a new repository begins with, as on GitHub.
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("bug", "d73a4a", "Something isn't working"),
    ("documentation", "0075ca", "Improvements or additions to documentation"),
    ("enhancement", "a2eeef", "New feature or request"),
    ("good first issue", "7057ff", "Good for newcomers"),
    ("question", "d876e3", "Further information is requested"),
    ("wontfix", "ffffff", "This will not be worked on"),
];
const DEFAULT_COLOR: &str = "ededed";

#[derive(Debug)]
pub(crate) struct Label {
    pub(crate) id: u64,
    pub(crate) name: String,
    /// Six hexadecimal digits.
    pub(crate) color: String,
    pub(crate) description: Option<String>,
    pub(crate) default: bool,
}

impl Repository {
    fn label(&self, name: &str) -> Result<&Label, Refusal> {
        self.labels.get(&name.to_lowercase()).ok_or_else(Refusal::not_found)
    }
}

impl World {
    /// Gives a new repository its labels.
    pub(crate) fn seed_labels(&mut self, id: RepositoryId) {
        for (name, color, description) in DEFAULTS {
            let description = Some((*description).to_owned());
            self.add_label(id, name, color, description, true);
        }
    }

    fn add_label(
        &mut self,
        id: RepositoryId,
        name: &str,
        color: &str,
        description: Option<String>,
        default: bool,
    ) {
        let label = Label {
            id: self.next_id(),
            name: name.to_owned(),
            color: color.to_lowercase(),
            description,
            default,
        };
        self.repository_mut(id).labels.insert(name.to_lowercase(), label);
    }

    /// The keys of these labels; those that there are not yet are made.
    pub(crate) fn ensure_labels(&mut self, id: RepositoryId, names: Vec<String>) -> Vec<String> {
        let mut keys = Vec::new();
        for name in names {
            let key = name.to_lowercase();
            if !self.repository(id).labels.contains_key(&key) {
                self.add_label(id, &name, DEFAULT_COLOR, None, false);
            }
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    fn render_label(&self, repository: &Repository, label: &Label) -> Value {
        let mut url = url::Url::parse(&self.url(&repository.path())).ok();
        if let Some(mut segments) = url.as_mut().and_then(|url| url.path_segments_mut().ok()) {
            segments.push("labels").push(&label.name);
        }
        json!({
            "id": label.id,
            "node_id": node_id("Label", label.id),
            "url": url.map(String::from),
            "name": label.name,
            "color": label.color,
            "default": label.default,
            "description": label.description,
        })
    }

    pub(crate) fn render_labels_of(&self, repository: &Repository, issue: &Issue) -> Vec<Value> {
        let labels = issue.labels.iter().filter_map(|key| repository.labels.get(key));
        labels.map(|label| self.render_label(repository, label)).collect()
    }
}

/// `GET /repos/{owner}/{repo}/labels`
pub(crate) async fn list(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let labels: Vec<&Label> = repository.labels.values().collect();
    Ok(pages::list(&call, &labels, |label| world.render_label(repository, label)))
}

/// `POST /repos/{owner}/{repo}/labels`
pub(crate) async fn create(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    let mut fields = Fields::of(&call, "Label")?;
    let label = fields.required_text("name");
    let color = color(&mut fields);
    let description = fields.text("description");
    if world.repository(id).label(&label).is_ok() {
        fields.fail::<()>("name", "already_exists");
    }
    fields.finish()?;
    let color = color.unwrap_or_else(|| DEFAULT_COLOR.to_owned());
    world.add_label(id, &label, &color, description, false);
    let repository = world.repository(id);
    created(world.render_label(repository, repository.label(&label)?))
}

fn color(fields: &mut Fields) -> Option<String> {
    let color = fields.text("color")?;
    let right = color.len() == 6 && color.bytes().all(|byte| byte.is_ascii_hexdigit());
    match right {
        true => Some(color),
        false => fields.fail("color", "invalid"),
    }
}

/// `GET /repos/{owner}/{repo}/labels/{name}`
pub(crate) async fn get(call: Call, Route((owner, name, label)): Route<(String, String, String)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    ok(world.render_label(repository, repository.label(&label)?))
}

/// `PATCH /repos/{owner}/{repo}/labels/{name}`
pub(crate) async fn update(
    call: Call,
    Route((owner, name, label)): Route<(String, String, String)>,
) -> Answer {
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    world.repository(id).label(&label)?;
    let mut fields = Fields::of(&call, "Label")?;
    let new_name = fields.text("new_name").unwrap_or_else(|| label.clone());
    let color = color(&mut fields);
    let description = fields.text_change("description");
    let (key, new_key) = (label.to_lowercase(), new_name.to_lowercase());
    if key != new_key && world.repository(id).label(&new_name).is_ok() {
        fields.fail::<()>("name", "already_exists");
    }
    fields.finish()?;
    let repository = world.repository_mut(id);
    let mut changed = repository.labels.remove(&key).ok_or_else(Refusal::not_found)?;
    changed.name = new_name.clone();
    set(&mut changed.color, color);
    set(&mut changed.description, description.map(|text| text.filter(|one| !one.is_empty())));
    repository.labels.insert(new_key.clone(), changed);
    for issue in repository.issues.values_mut() {
        for held in issue.labels.iter_mut().filter(|held| **held == key) {
            held.clone_from(&new_key);
        }
    }
    let repository = world.repository(id);
    ok(world.render_label(repository, repository.label(&new_name)?))
}

/// `DELETE /repos/{owner}/{repo}/labels/{name}`
pub(crate) async fn delete(
    call: Call,
    Route((owner, name, label)): Route<(String, String, String)>,
) -> Answer {
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    let repository = world.repository_mut(id);
    let key = label.to_lowercase();
    repository.labels.remove(&key).ok_or_else(Refusal::not_found)?;
    for issue in repository.issues.values_mut() {
        issue.labels.retain(|held| *held != key);
    }
    no_content()
}

/// `GET /repos/{owner}/{repo}/issues/{issue_number}/labels`
pub(crate) async fn list_of_issue(
    call: Call,
    Route((owner, name, number)): Route<(String, String, u32)>,
) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let labels = world.render_labels_of(repository, repository.issue(number)?);
    Ok(pages::list(&call, &labels, Value::clone))
}

/// `POST /repos/{owner}/{repo}/issues/{issue_number}/labels`
pub(crate) async fn add_to_issue(call: Call, Route(route): Route<(String, String, u32)>) -> Answer {
    change_issue(&call, route, |held, mut named| {
        named.retain(|key| !held.contains(key));
        held.append(&mut named);
    })
}

/// `PUT /repos/{owner}/{repo}/issues/{issue_number}/labels`
pub(crate) async fn set_of_issue(call: Call, Route(route): Route<(String, String, u32)>) -> Answer {
    change_issue(&call, route, |held, named| *held = named)
}

fn change_issue(
    call: &Call,
    (owner, name, number): (String, String, u32),
    change: impl FnOnce(&mut Vec<String>, Vec<String>),
) -> Answer {
    let mut world = call.world();
    let id = world.pushable(call, &owner, &name)?;
    world.repository(id).issue(number)?;
    let named = named_labels(call)?;
    let keys = world.ensure_labels(id, named);
    let at = world.tick();
    let issue = world.repository_mut(id).issue_mut(number)?;
    change(&mut issue.labels, keys);
    issue.updated_at = at;
    let repository = world.repository(id);
    let labels = world.render_labels_of(repository, repository.issue(number)?);
    Ok(answers::json(StatusCode::OK, Value::Array(labels)))
}

/// The body is `{"labels": […]}` or the bare array.
fn named_labels(call: &Call) -> Result<Vec<String>, Refusal> {
    if let Ok(names) = serde_json::from_slice::<Vec<String>>(&call.body) {
        return Ok(names);
    }
    let mut fields = Fields::of(call, "Label")?;
    let names = fields.texts("labels");
    if !fields.has("labels") {
        fields.fail::<()>("labels", "missing_field");
    }
    fields.finish()?;
    Ok(names.unwrap_or_default())
}

/// `DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}`
pub(crate) async fn remove_from_issue(
    call: Call,
    Route((owner, name, number, label)): Route<(String, String, u32, String)>,
) -> Answer {
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    let key = label.to_lowercase();
    let issue = world.repository_mut(id).issue_mut(number)?;
    if !issue.labels.contains(&key) {
        return Err(Refusal::new(StatusCode::NOT_FOUND, "Label does not exist"));
    }
    issue.labels.retain(|held| *held != key);
    let repository = world.repository(id);
    let labels = world.render_labels_of(repository, repository.issue(number)?);
    Ok(answers::json(StatusCode::OK, Value::Array(labels)))
}
