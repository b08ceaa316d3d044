//! Commits of a repository.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::{Value, json};

use super::answers::{Answer, ok};
use super::call::{Call, Route};
use super::clock::Timestamp;
use super::history::{Commit, Tree, sha_of, sha_of_tree};
use super::pages;
use super::refusals::Refusal;
use super::repositories::Repository;
use super::state::{World, node_id};

impl World {
    pub(crate) fn render_commit(&self, repository: &Repository, commit: &Commit) -> Value {
        let sha = &commit.sha;
        let path = repository.path();
        let html = self.url(&format!("/{}/commit", repository.full_name()));
        let url = self.url(&format!("{path}/commits/{sha}"));
        let tree = sha_of_tree(&commit.tree);
        let parents = commit.parents.iter().map(|parent| {
            json!({
                "sha": parent,
                "url": self.url(&format!("{path}/commits/{parent}")),
                "html_url": format!("{html}/{parent}"),
            })
        });
        let signature = self.signature(commit);
        json!({
            "sha": sha,
            "node_id": node_id("Commit", sha),
            "url": url,
            "html_url": format!("{html}/{sha}"),
            "comments_url": format!("{url}/comments"),
            "commit": {
                "url": self.url(&format!("{path}/git/commits/{sha}")),
                "author": signature,
                "committer": signature,
                "message": commit.message,
                "comment_count": 0,
                "tree": { "sha": tree, "url": self.url(&format!("{path}/git/trees/{tree}")) },
                "verification": {
                    "verified": false, "reason": "unsigned", "signature": null, "payload": null,
                    "verified_at": null,
                },
            },
            "author": self.simple_user(&commit.author),
            "committer": self.simple_user(&commit.author),
            "parents": parents.collect::<Vec<_>>(),
        })
    }

    pub(crate) fn signature(&self, commit: &Commit) -> Value {
        json!({
            "name": commit.author,
            "email": format!("{}@users.noreply.github.com", commit.author),
            "date": commit.at.text(),
        })
    }
}

/// `GET /repos/{owner}/{repo}/commits`
pub(crate) async fn list(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let query = &call.query;
    let reference = query.get("sha").unwrap_or(&repository.default_branch);
    let head = repository.history.resolve(reference).ok_or_else(Refusal::not_found)?;
    let since = query.get("since").and_then(Timestamp::parse);
    let until = query.get("until").and_then(Timestamp::parse);
    let mut commits = repository.history.log(&head.sha);
    commits.retain(|one| query.get("author").is_none_or(|login| one.author == login));
    commits.retain(|one| since.is_none_or(|since| one.at >= since));
    commits.retain(|one| until.is_none_or(|until| one.at <= until));
    if let Some(path) = query.get("path") {
        commits.retain(|one| touches(repository, one, path));
    }
    Ok(pages::list(&call, &commits, |one| world.render_commit(repository, one)))
}

/// `GET /repos/{owner}/{repo}/commits/{ref}`
pub(crate) async fn get(
    call: Call,
    Route((owner, name, reference)): Route<(String, String, String)>,
) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let commit = repository.history.resolve(&reference).ok_or_else(|| {
        let message = format!("No commit found for SHA: {reference}");
        Refusal::new(http::StatusCode::UNPROCESSABLE_ENTITY, message)
    })?;
    let mut value = world.render_commit(repository, commit);
    let files = render_files(&world, repository, commit);
    let sum = |name: &str| files.iter().filter_map(|file| file[name].as_u64()).sum::<u64>();
    let (additions, deletions) = (sum("additions"), sum("deletions"));
    value["stats"] = json!({
        "additions": additions, "deletions": deletions, "total": additions + deletions,
    });
    value["files"] = Value::Array(files);
    ok(value)
}

fn touches(repository: &Repository, commit: &Commit, path: &str) -> bool {
    let inside = |file: &String| file == path || file.starts_with(&format!("{path}/"));
    changed_paths(parent_tree(repository, commit), &commit.tree).iter().any(|file| inside(file))
}

fn parent_tree<'a>(repository: &'a Repository, commit: &Commit) -> Option<&'a Tree> {
    let parent = commit.parents.first()?;
    repository.history.commits.get(parent).map(|one| &one.tree)
}

/// The paths whose files differ, in order.
pub(crate) fn changed_paths<'a>(before: Option<&'a Tree>, after: &'a Tree) -> Vec<&'a String> {
    let had = |path: &String| before.and_then(|tree| tree.get(path));
    let mut paths: Vec<&String> =
        after.iter().filter(|(path, file)| had(path) != Some(file)).map(|(path, _)| path).collect();
    paths.extend(before.into_iter().flat_map(|tree| tree.keys()).filter(|path| !after.contains_key(*path)));
    paths.sort();
    paths
}

/// Lines that a file has and had not, and the other way round: less than git's
/// own difference where lines moved.
pub(crate) fn line_changes(before: Option<&Tree>, after: &Tree, path: &str) -> (usize, usize) {
    let lines = |tree: Option<&'_ Tree>| -> Vec<Bytes> {
        let file = tree.and_then(|tree| tree.get(path));
        let split = |file: &Bytes| {
            let lines = file.split(|byte| *byte == b'\n');
            lines.map(|line| file.slice_ref(line)).collect()
        };
        file.map(split).unwrap_or_default()
    };
    let (old, new) = (lines(before), lines(Some(after)));
    let missing = |from: &[Bytes], lines: &[Bytes]| {
        let have: HashSet<&Bytes> = from.iter().collect();
        lines.iter().filter(|line| !have.contains(line)).count()
    };
    (missing(&old, &new), missing(&new, &old))
}

fn render_files(world: &World, repository: &Repository, commit: &Commit) -> Vec<Value> {
    let before = parent_tree(repository, commit);
    let render = |path: &String| {
        let (additions, deletions) = line_changes(before, &commit.tree, path);
        let existed = before.is_some_and(|tree| tree.contains_key(path));
        let status = match (existed, commit.tree.contains_key(path)) {
            (_, false) => "removed",
            (false, true) => "added",
            (true, true) => "modified",
        };
        let content = commit.tree.get(path).map(|file| sha_of(file));
        let html = world.url(&format!("/{}", repository.full_name()));
        let contents = format!("{}/contents/{path}?ref={}", repository.path(), commit.sha);
        json!({
            "sha": content,
            "filename": path,
            "status": status,
            "additions": additions,
            "deletions": deletions,
            "changes": additions + deletions,
            "blob_url": format!("{html}/blob/{}/{path}", commit.sha),
            "raw_url": format!("{html}/raw/{}/{path}", commit.sha),
            "contents_url": world.url(&contents),
        })
    };
    let paths = changed_paths(before, &commit.tree);
    paths.into_iter().map(render).collect()
}
