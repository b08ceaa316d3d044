//! Files of a repository.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::answers::{self, Answer, ok};
use super::call::{Call, Route};
use super::fields::Fields;
use super::history::{Tree, sha_of, sha_of_tree};
use super::refusals::Refusal;
use super::repositories::{Repository, RepositoryId};
use super::state::World;

/// What every entry has, a file or a directory.
fn render_entry(
    world: &World,
    repository: &Repository,
    path: &str,
    reference: &str,
    kind: &str,
    sha: &str,
    size: usize,
) -> Value {
    let url = world.url(&format!("{}/contents/{path}?ref={reference}", repository.path()));
    let (git_kind, html_kind) = match kind {
        "file" => ("blobs", "blob"),
        _ => ("trees", "tree"),
    };
    let git = world.url(&format!("{}/git/{git_kind}/{sha}", repository.path()));
    let html = world.url(&format!("/{}/{html_kind}/{reference}/{path}", repository.full_name()));
    let raw = world.url(&format!("/{}/raw/{reference}/{path}", repository.full_name()));
    json!({
        "name": path.rsplit('/').next(),
        "path": path,
        "sha": sha,
        "size": size,
        "type": kind,
        "url": url,
        "git_url": git,
        "html_url": html,
        "download_url": (kind == "file").then_some(raw),
        "_links": { "self": url, "git": git, "html": html },
    })
}

fn render_file(world: &World, repository: &Repository, path: &str, reference: &str, file: &Bytes) -> Value {
    let sha = sha_of(file);
    let mut value = render_entry(world, repository, path, reference, "file", &sha, file.len());
    value["encoding"] = json!("base64");
    value["content"] = json!(STANDARD.encode(file));
    value
}

/// The entries right under a directory; none where there is no such directory.
fn render_directory(
    world: &World,
    repository: &Repository,
    tree: &Tree,
    path: &str,
    reference: &str,
) -> Option<Value> {
    let prefix = match path {
        "" => String::new(),
        _ => format!("{path}/"),
    };
    let mut entries = Vec::new();
    let mut last_directory = "";
    for (file_path, file) in tree {
        let Some(rest) = file_path.strip_prefix(&prefix) else {
            continue;
        };
        match rest.split_once('/') {
            None => entries.push(render_entry(
                world,
                repository,
                file_path,
                reference,
                "file",
                &sha_of(file),
                file.len(),
            )),
            Some((directory, _)) if directory != last_directory => {
                last_directory = directory;
                let inner: Tree = tree
                    .iter()
                    .filter(|(one, _)| one.starts_with(&format!("{prefix}{directory}/")))
                    .map(|(one, file)| (one.clone(), file.clone()))
                    .collect();
                let path = format!("{prefix}{directory}");
                entries.push(render_entry(
                    world,
                    repository,
                    &path,
                    reference,
                    "dir",
                    &sha_of_tree(&inner),
                    0,
                ));
            }
            Some(_) => {}
        }
    }
    (!entries.is_empty()).then_some(Value::Array(entries))
}

fn show(call: &Call, owner: &str, name: &str, path: &str) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(call, owner, name)?);
    let reference = call.query.get("ref").unwrap_or(&repository.default_branch);
    let commit = repository.history.resolve(reference).ok_or_else(|| {
        let message = format!("No commit found for the ref {reference}");
        Refusal::new(StatusCode::NOT_FOUND, message)
    })?;
    let path = path.trim_matches('/');
    if let Some(file) = commit.tree.get(path) {
        let accept = call.headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
        if accept.is_some_and(|accept| accept.contains("raw")) {
            let media_type = "application/vnd.github.raw+json; charset=utf-8";
            return Ok(answers::body_of(StatusCode::OK, media_type, file.clone()));
        }
        return ok(render_file(&world, repository, path, reference, file));
    }
    match render_directory(&world, repository, &commit.tree, path, reference) {
        Some(entries) => ok(entries),
        None => Err(Refusal::not_found()),
    }
}

/// `GET /repos/{owner}/{repo}/contents/{path}`
pub(crate) async fn get(call: Call, Route((owner, name, path)): Route<(String, String, String)>) -> Answer {
    show(&call, &owner, &name, &path)
}

/// `GET /repos/{owner}/{repo}/contents/`, the root directory
pub(crate) async fn get_root(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    show(&call, &owner, &name, "")
}

/// `GET /repos/{owner}/{repo}/readme`
pub(crate) async fn get_readme(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    show(&call, &owner, &name, "README.md")
}

/// Where and with which words a file is to change.
#[derive(Debug)]
struct Edit {
    id: RepositoryId,
    branch: String,
    message: String,
}

/// Reads what putting and deleting have in common. The `sha` must be that of
/// the file as it is: 422 where it is left out, 409 where it is another.
fn begin_edit(
    world: &World,
    call: &Call,
    (owner, name, path): (&str, &str, &str),
    fields: &mut Fields,
) -> Result<Edit, Refusal> {
    let id = world.pushable(call, owner, name)?;
    let repository = world.repository(id);
    let message = fields.required_text("message");
    let sha = fields.text("sha");
    let branch = fields.text("branch").unwrap_or_else(|| repository.default_branch.clone());
    let head = repository.history.branches.get(&branch).and_then(|head| repository.history.resolve(head));
    if head.is_none() && !repository.history.branches.is_empty() {
        let message = format!("Branch {branch} not found");
        return Err(Refusal::new(StatusCode::NOT_FOUND, message));
    }
    let is = head.and_then(|commit| commit.tree.get(path)).map(|file| sha_of(file));
    match (is, sha) {
        (Some(_), None) => {
            let message = "Invalid request.\n\n\"sha\" wasn't supplied.";
            return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, message));
        }
        (Some(is), Some(sha)) if is != sha => {
            return Err(Refusal::conflict(format!("{path} does not match {sha}")));
        }
        (None, Some(sha)) => return Err(Refusal::conflict(format!("{path} does not match {sha}"))),
        _ => {}
    }
    Ok(Edit { id, branch, message })
}

fn render_edit(world: &World, repository: &Repository, sha: &str, content: Value) -> Result<Value, Refusal> {
    let commit = repository.history.resolve(sha).ok_or_else(Refusal::not_found)?;
    let mut rendered = world.render_commit(repository, commit);
    let mut inner = rendered["commit"].take();
    for name in ["sha", "node_id", "html_url", "parents"] {
        inner[name] = rendered[name].take();
    }
    Ok(json!({ "content": content, "commit": inner }))
}

/// `PUT /repos/{owner}/{repo}/contents/{path}`
pub(crate) async fn put(call: Call, Route((owner, name, path)): Route<(String, String, String)>) -> Answer {
    let author = call.author()?;
    let mut world = call.world();
    let mut fields = Fields::of(&call, "Content")?;
    let edit = begin_edit(&world, &call, (&owner, &name, &path), &mut fields)?;
    let content = match fields.text("content").map(|text| STANDARD.decode(text.replace('\n', ""))) {
        Some(Ok(content)) => Bytes::from(content),
        Some(Err(_)) => {
            return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "content is not valid Base64"));
        }
        None => fields.fail("content", "missing_field"),
    };
    fields.finish()?;
    let at = world.tick();
    let repository = world.repository_mut(edit.id);
    let head = repository.history.resolve(&edit.branch);
    let is_new = head.is_none_or(|commit| !commit.tree.contains_key(&path));
    let change = vec![(path.clone(), Some(content.clone()))];
    let sha = repository.change(&edit.branch, author, &edit.message, at, change);
    repository.updated_at = at;
    let repository = world.repository(edit.id);
    let mut file = render_file(&world, repository, &path, &edit.branch, &content);
    if let Some(fields) = file.as_object_mut() {
        fields.retain(|name, _| name != "content" && name != "encoding");
    }
    let status = match is_new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok(answers::json(status, render_edit(&world, repository, &sha, file)?))
}

/// `DELETE /repos/{owner}/{repo}/contents/{path}`
pub(crate) async fn delete(
    call: Call,
    Route((owner, name, path)): Route<(String, String, String)>,
) -> Answer {
    let author = call.author()?;
    let mut world = call.world();
    let mut fields = Fields::of(&call, "Content")?;
    let edit = begin_edit(&world, &call, (&owner, &name, &path), &mut fields)?;
    fields.finish()?;
    let head = world.repository(edit.id).history.resolve(&edit.branch);
    if head.is_none_or(|commit| !commit.tree.contains_key(&path)) {
        return Err(Refusal::not_found());
    }
    let at = world.tick();
    let repository = world.repository_mut(edit.id);
    let sha = repository.change(&edit.branch, author, &edit.message, at, vec![(path, None)]);
    repository.updated_at = at;
    let repository = world.repository(edit.id);
    ok(render_edit(&world, repository, &sha, Value::Null)?)
}
