//! Gists.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::accounts::set;
use super::answers::{Answer, created, no_content, ok};
use super::call::{Call, Route};
use super::clock::Timestamp;
use super::fields::Fields;
use super::history::sha_of;
use super::pages;
use super::refusals::Refusal;
use super::state::{World, node_id};

#[derive(Debug)]
pub(crate) struct Gist {
    /// Thirty-two hexadecimal digits.
    pub(crate) id: String,
    /// A login.
    pub(crate) owner: String,
    pub(crate) description: Option<String>,
    pub(crate) public: bool,
    /// By name.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

impl World {
    pub(crate) fn add_gist(
        &mut self,
        owner: &str,
        description: Option<String>,
        public: bool,
        files: BTreeMap<String, String>,
    ) -> String {
        let at = self.tick();
        let number = self.next_id();
        let mut id = sha_of(format!("gist {number}").as_bytes());
        id.truncate(32);
        let gist = Gist {
            id: id.clone(),
            owner: owner.to_owned(),
            description,
            public,
            files,
            created_at: at,
            updated_at: at,
        };
        self.gists.insert(id.clone(), gist);
        id
    }

    /// Secret gists are found by whoever knows their id, as on GitHub.
    fn gist(&self, id: &str) -> Result<&Gist, Refusal> {
        self.gists.get(id).ok_or_else(Refusal::not_found)
    }

    fn own_gist(&self, call: &Call, id: &str) -> Result<(), Refusal> {
        let author = call.author()?;
        match self.gist(id)?.owner == author {
            true => Ok(()),
            false => Err(Refusal::not_found()),
        }
    }

    /// The `base-gist`, as in lists: files without what is in them.
    fn render_gist(&self, gist: &Gist) -> Value {
        let url = self.url(&format!("/gists/{}", gist.id));
        let html = self.url(&format!("/{}/{}", gist.owner, gist.id));
        let files: Map<String, Value> = gist
            .files
            .iter()
            .map(|(name, content)| {
                let file = json!({
                    "filename": name,
                    "type": "text/plain",
                    "language": "Text",
                    "raw_url": format!("{html}/raw/{name}"),
                    "size": content.len(),
                });
                (name.clone(), file)
            })
            .collect();
        json!({
            "id": gist.id,
            "node_id": node_id("Gist", &gist.id),
            "url": url,
            "forks_url": format!("{url}/forks"),
            "commits_url": format!("{url}/commits"),
            "git_pull_url": format!("{html}.git"),
            "git_push_url": format!("{html}.git"),
            "html_url": html,
            "comments_url": format!("{url}/comments"),
            "public": gist.public,
            "description": gist.description,
            "comments": 0,
            "user": null,
            "owner": self.simple_user(&gist.owner),
            "files": files,
            "truncated": false,
            "created_at": gist.created_at.text(),
            "updated_at": gist.updated_at.text(),
        })
    }

    fn render_gist_full(&self, gist: &Gist) -> Value {
        let mut value = self.render_gist(gist);
        for (name, content) in &gist.files {
            value["files"][name]["content"] = json!(content);
            value["files"][name]["truncated"] = json!(false);
            value["files"][name]["encoding"] = json!("utf-8");
        }
        value["forks"] = json!([]);
        value["history"] = json!([]);
        value
    }
}

fn list_those(call: &Call, fits: impl Fn(&Gist) -> bool) -> Answer {
    let world = call.world();
    let mut gists: Vec<&Gist> = world.gists.values().filter(|gist| fits(gist)).collect();
    gists.sort_by_key(|gist| std::cmp::Reverse(gist.updated_at));
    Ok(pages::list(call, &gists, |gist| world.render_gist(gist)))
}

/// `GET /gists`: the caller's own, or all public ones without a token.
pub(crate) async fn list(call: Call) -> Answer {
    match &call.caller {
        Some(login) => list_those(&call, |gist| gist.owner == *login),
        None => list_those(&call, |gist| gist.public),
    }
}

/// `GET /gists/public`
pub(crate) async fn list_public(call: Call) -> Answer {
    list_those(&call, |gist| gist.public)
}

/// `GET /users/{username}/gists`
pub(crate) async fn list_of_user(call: Call, Route(username): Route<String>) -> Answer {
    let login = call.world().account(&username)?.login.clone();
    list_those(&call, |gist| gist.public && gist.owner == login)
}

/// `GET /gists/{gist_id}`
pub(crate) async fn get(call: Call, Route(id): Route<String>) -> Answer {
    let world = call.world();
    ok(world.render_gist_full(world.gist(&id)?))
}

/// `POST /gists`
pub(crate) async fn create(call: Call) -> Answer {
    let author = call.author()?;
    let mut fields = Fields::of(&call, "Gist")?;
    let description = fields.text("description");
    let public = fields.boolean("public").unwrap_or(false);
    let changes = files(&mut fields);
    let files: BTreeMap<String, String> =
        changes.into_iter().filter_map(|(name, change)| Some((name, change?.content?))).collect();
    if files.is_empty() {
        fields.fail::<()>("files", "missing_field");
    }
    fields.finish()?;
    let mut world = call.world();
    let id = world.add_gist(author, description, public, files);
    created(world.render_gist_full(world.gist(&id)?))
}

/// What is to become of a file; none: it is to go.
type Changes = Vec<(String, Option<FileChange>)>;

#[derive(Debug)]
struct FileChange {
    content: Option<String>,
    filename: Option<String>,
}

fn files(fields: &mut Fields) -> Changes {
    let mut changes = Vec::new();
    for (name, file) in fields.object("files").unwrap_or_default() {
        let text = |key: &str| file[key].as_str().map(str::to_owned);
        match &file {
            Value::Null => changes.push((name, None)),
            Value::Object(_) => {
                let change = FileChange { content: text("content"), filename: text("filename") };
                changes.push((name, Some(change)));
            }
            _ => fields.fail("files", "invalid"),
        }
    }
    changes
}

/// `PATCH /gists/{gist_id}`
pub(crate) async fn update(call: Call, Route(id): Route<String>) -> Answer {
    let mut world = call.world();
    world.own_gist(&call, &id)?;
    let mut fields = Fields::of(&call, "Gist")?;
    let description = fields.text_change("description");
    let changes = files(&mut fields);
    fields.finish()?;
    let at = world.tick();
    let gist = world.gists.get_mut(&id).ok_or_else(Refusal::not_found)?;
    for (name, change) in changes {
        let old = gist.files.remove(&name);
        let Some(change) = change else {
            continue;
        };
        if let Some(content) = change.content.or(old) {
            gist.files.insert(change.filename.unwrap_or(name), content);
        }
    }
    set(&mut gist.description, description);
    gist.updated_at = at;
    ok(world.render_gist_full(world.gist(&id)?))
}

/// `DELETE /gists/{gist_id}`
pub(crate) async fn delete(call: Call, Route(id): Route<String>) -> Answer {
    let mut world = call.world();
    world.own_gist(&call, &id)?;
    world.gists.remove(&id);
    no_content()
}
