//! Pull requests between branches of one repository.

use http::StatusCode;
use serde_json::{Value, json};

use super::accounts::{extend, set};
use super::answers::{Answer, created, no_content, ok};
use super::call::{Call, Route};
use super::clock::Timestamp;
use super::commits::{changed_paths, line_changes};
use super::fields::Fields;
use super::history::{Draft, Merge};
use super::issues::{Issue, association, move_to};
use super::listing;
use super::pages;
use super::refusals::Refusal;
use super::repositories::{Repository, RepositoryId};
use super::state::{World, node_id};

/// What a pull request has beyond its issue of the same number.
#[derive(Debug)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    pub(crate) number: u32,
    /// A branch.
    pub(crate) head: String,
    /// The branch it is to be merged into.
    pub(crate) base: String,
    pub(crate) draft: bool,
    pub(crate) merged: Option<Merged>,
}

#[derive(Clone, Debug)]
pub(crate) struct Merged {
    pub(crate) at: Timestamp,
    /// A login.
    pub(crate) by: String,
    pub(crate) sha: String,
    /// Where the branches stood before.
    head_sha: String,
    base_sha: String,
}

impl Repository {
    fn pull(&self, number: u32) -> Result<(&Pull, &Issue), Refusal> {
        let pull = self.pulls.get(&number).ok_or_else(Refusal::not_found)?;
        Ok((pull, self.issue(number)?))
    }

    /// Where base and head stand, or stood when they were merged.
    fn ends(&self, pull: &Pull) -> (String, String) {
        if let Some(merged) = &pull.merged {
            return (merged.base_sha.clone(), merged.head_sha.clone());
        }
        let sha = |branch: &str| self.history.branches.get(branch).cloned().unwrap_or_default();
        (sha(&pull.base), sha(&pull.head))
    }
}

impl World {
    pub(crate) fn add_pull(
        &mut self,
        id: RepositoryId,
        author: &str,
        title: &str,
        (head, base): (&str, &str),
    ) -> u32 {
        let number = self.add_issue(id, author, title, None);
        let pull = Pull {
            id: self.next_id(),
            number,
            head: head.to_owned(),
            base: base.to_owned(),
            draft: false,
            merged: None,
        };
        self.repository_mut(id).pulls.insert(number, pull);
        number
    }

    /// The `pull-request-simple`, as in lists.
    fn render_pull(&self, repository: &Repository, pull: &Pull, issue: &Issue) -> Value {
        let url = self.url(&format!("{}/pulls/{}", repository.path(), pull.number));
        let issue_url = self.url(&format!("{}/issues/{}", repository.path(), pull.number));
        let html = self.url(&format!("/{}/pull/{}", repository.full_name(), pull.number));
        let (base_sha, head_sha) = repository.ends(pull);
        let statuses = self.url(&format!("{}/statuses/{head_sha}", repository.path()));
        let link = |href: &str| json!({ "href": href });
        json!({
            "id": pull.id,
            "node_id": node_id("PullRequest", pull.id),
            "url": url,
            "html_url": html,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "issue_url": issue_url,
            "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"),
            "review_comment_url": self.url(&format!("{}/pulls/comments{{/number}}", repository.path())),
            "comments_url": format!("{issue_url}/comments"),
            "statuses_url": statuses,
            "number": pull.number,
            "state": issue.state(),
            "locked": issue.locked,
            "active_lock_reason": issue.lock_reason,
            "title": issue.title,
            "user": self.simple_user(&issue.author),
            "body": issue.body,
            "labels": self.render_labels_of(repository, issue),
            "milestone": self.render_milestone_of(repository, issue),
            "created_at": issue.created_at.text(),
            "updated_at": issue.updated_at.text(),
            "closed_at": issue.closed_at.map(Timestamp::text),
            "merged_at": pull.merged.as_ref().map(|merged| merged.at.text()),
            "merge_commit_sha": pull.merged.as_ref().map(|merged| &merged.sha),
            "assignee": issue.assignees.first().map(|login| self.simple_user(login)),
            "assignees": self.simple_users(&issue.assignees),
            "requested_reviewers": [],
            "requested_teams": [],
            "head": self.render_end(repository, &pull.head, &head_sha),
            "base": self.render_end(repository, &pull.base, &base_sha),
            "_links": {
                "self": link(&url),
                "html": link(&html),
                "issue": link(&issue_url),
                "comments": link(&format!("{issue_url}/comments")),
                "review_comments": link(&format!("{url}/comments")),
                "review_comment": link(&self.url(&format!("{}/pulls/comments{{/number}}", repository.path()))),
                "commits": link(&format!("{url}/commits")),
                "statuses": link(&statuses),
            },
            "author_association": association(repository, &issue.author),
            "auto_merge": null,
            "draft": pull.draft,
        })
    }

    fn render_end(&self, repository: &Repository, branch: &str, sha: &str) -> Value {
        json!({
            "label": format!("{}:{branch}", repository.owner),
            "ref": branch,
            "sha": sha,
            "user": self.simple_user(&repository.owner),
            "repo": self.render_repository(repository),
        })
    }

    /// The whole `pull-request`.
    fn render_pull_full(&self, repository: &Repository, pull: &Pull, issue: &Issue) -> Value {
        let history = &repository.history;
        let (base_sha, head_sha) = repository.ends(pull);
        let common = history.common(&base_sha, &head_sha).map(|commit| &commit.tree);
        let head = history.resolve(&head_sha);
        let changed = head.map_or(Vec::new(), |commit| changed_paths(common, &commit.tree));
        let lines = head.map_or((0, 0), |commit| {
            let of_file = |path: &&String| line_changes(common, &commit.tree, path);
            let add = |sum: (usize, usize), file: (usize, usize)| (sum.0 + file.0, sum.1 + file.1);
            changed.iter().map(of_file).fold((0, 0), add)
        });
        let open = issue.closed_at.is_none();
        let conflicts = matches!(history.merge(&base_sha, &head_sha), Merge::Conflict(_));
        let mergeable_state = match (open, conflicts) {
            (false, _) => "unknown",
            (true, true) => "dirty",
            (true, false) => "clean",
        };
        let comments = repository.comments.values().filter(|one| one.issue == pull.number);
        let mut value = self.render_pull(repository, pull, issue);
        let more = json!({
            "merged": pull.merged.is_some(),
            "mergeable": open.then_some(!conflicts),
            "rebaseable": open.then_some(!conflicts),
            "mergeable_state": mergeable_state,
            "merged_by": pull.merged.as_ref().map(|merged| self.simple_user(&merged.by)),
            "comments": comments.count(),
            "review_comments": 0,
            "maintainer_can_modify": false,
            "commits": history.ahead(&base_sha, &head_sha).len(),
            "additions": lines.0,
            "deletions": lines.1,
            "changed_files": changed.len(),
        });
        if let Value::Object(fields) = &mut value {
            extend(fields, more);
        }
        value
    }
}

/// `GET /repos/{owner}/{repo}/pulls`
pub(crate) async fn list(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let query = &call.query;
    let state = query.get("state").unwrap_or("open");
    let head = query.get("head").map(branch_of);
    let mut pulls: Vec<(&Pull, &Issue)> = repository
        .pulls
        .values()
        .filter_map(|pull| Some((pull, repository.issue(pull.number).ok()?)))
        .filter(|(_, issue)| state == "all" || issue.state() == state)
        .filter(|(pull, _)| query.get("base").is_none_or(|base| pull.base == base))
        .filter(|(pull, _)| head.is_none_or(|head| pull.head == head))
        .collect();
    let by_update = query.get("sort") == Some("updated");
    listing::sort(&mut pulls, query, false, |(pull, issue)| match by_update {
        true => issue.updated_at.text(),
        false => format!("{:010}", pull.number),
    });
    Ok(pages::list(&call, &pulls, |(pull, issue)| world.render_pull(repository, pull, issue)))
}

/// The branch in `owner:branch`.
fn branch_of(head: &str) -> &str {
    head.split_once(':').map_or(head, |(_, branch)| branch)
}

/// `POST /repos/{owner}/{repo}/pulls`
pub(crate) async fn create(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let author = call.author()?;
    let mut world = call.world();
    let id = world.writable(&call, &owner, &name)?;
    let mut fields = Fields::of(&call, "PullRequest")?;
    let title = fields.required_text("title");
    let head = branch_of(&fields.required_text("head")).to_owned();
    let base = fields.required_text("base");
    let body = fields.text("body");
    let draft = fields.boolean("draft").unwrap_or(false);
    let repository = world.repository(id);
    for (field, branch) in [("head", &head), ("base", &base)] {
        if !branch.is_empty() && !repository.history.branches.contains_key(branch) {
            fields.fail::<()>(field, "invalid");
        }
    }
    fields.finish()?;
    check_new(repository, &head, &base)?;
    let number = world.add_pull(id, author, &title, (&head, &base));
    let repository = world.repository_mut(id);
    repository.issue_mut(number)?.body = body;
    if let Some(pull) = repository.pulls.get_mut(&number) {
        pull.draft = draft;
    }
    let repository = world.repository(id);
    let (pull, issue) = repository.pull(number)?;
    created(world.render_pull_full(repository, pull, issue))
}

/// 422 where there is nothing to merge or it is asked for already.
fn check_new(repository: &Repository, head: &str, base: &str) -> Result<(), Refusal> {
    let custom = |message: String| {
        let error = json!({ "resource": "PullRequest", "code": "custom", "message": message });
        Refusal::invalid(vec![error])
    };
    let (history, sha) = (&repository.history, |branch| &repository.history.branches[branch]);
    if history.ahead(sha(base), sha(head)).is_empty() {
        return Err(custom(format!("No commits between {base} and {head}")));
    }
    let same = |pull: &&Pull| {
        let open = repository.issue(pull.number).is_ok_and(|issue| issue.closed_at.is_none());
        open && pull.head == head && pull.base == base
    };
    match repository.pulls.values().find(same) {
        Some(_) => Err(custom(format!("A pull request already exists for {}:{head}.", repository.owner))),
        None => Ok(()),
    }
}

/// `GET /repos/{owner}/{repo}/pulls/{pull_number}`
pub(crate) async fn get(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let (pull, issue) = repository.pull(number)?;
    ok(world.render_pull_full(repository, pull, issue))
}

/// `PATCH /repos/{owner}/{repo}/pulls/{pull_number}`
pub(crate) async fn update(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let editor = call.author()?;
    let mut world = call.world();
    let id = world.writable(&call, &owner, &name)?;
    let merged = world.repository(id).pull(number)?.0.merged.is_some();
    let mut fields = Fields::of(&call, "PullRequest")?;
    let title = fields.text("title");
    let body = fields.text_change("body");
    let state = fields.choice("state", &["open", "closed"]);
    if state == Some("open") && merged {
        fields.fail::<()>("state", "invalid");
    }
    fields.finish()?;
    let at = world.tick();
    let issue = world.repository_mut(id).issue_mut(number)?;
    set(&mut issue.title, title);
    set(&mut issue.body, body);
    issue.updated_at = at;
    move_to(issue, state, None, editor, at);
    let repository = world.repository(id);
    let (pull, issue) = repository.pull(number)?;
    ok(world.render_pull_full(repository, pull, issue))
}

/// `GET /repos/{owner}/{repo}/pulls/{pull_number}/commits`
pub(crate) async fn list_commits(
    call: Call,
    Route((owner, name, number)): Route<(String, String, u32)>,
) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    let (pull, _) = repository.pull(number)?;
    let (base, head) = repository.ends(pull);
    let commits = repository.history.ahead(&base, &head);
    Ok(pages::list(&call, &commits, |one| world.render_commit(repository, one)))
}

/// `GET /repos/{owner}/{repo}/pulls/{pull_number}/merge`
pub(crate) async fn check_merged(
    call: Call,
    Route((owner, name, number)): Route<(String, String, u32)>,
) -> Answer {
    let world = call.world();
    let repository = world.repository(world.readable(&call, &owner, &name)?);
    match repository.pull(number)?.0.merged {
        Some(_) => no_content(),
        None => Err(Refusal::not_found()),
    }
}

/// `PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge`: 405 where it can't be
/// merged, 409 where the head is no longer the one that was named.
pub(crate) async fn merge(call: Call, Route((owner, name, number)): Route<(String, String, u32)>) -> Answer {
    let author = call.author()?.to_owned();
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    let mut fields = Fields::of(&call, "PullRequest")?;
    let title = fields.text("commit_title");
    let sha = fields.text("sha");
    let method = fields.choice("merge_method", &["merge", "squash", "rebase"]).unwrap_or("merge");
    fields.finish()?;
    let at = world.tick();
    let repository = world.repository_mut(id);
    let (pull, issue) = repository.pull(number)?;
    let (base_sha, head_sha) = repository.ends(pull);
    if sha.is_some_and(|sha| sha != head_sha) {
        return Err(Refusal::conflict("Head branch was modified. Review and try the merge again."));
    }
    let not_mergeable = || Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "Pull Request is not mergeable");
    if issue.closed_at.is_some() || pull.draft {
        return Err(not_mergeable());
    }
    let Merge::Tree(tree) = repository.history.merge(&base_sha, &head_sha) else {
        return Err(not_mergeable());
    };
    let mut parents = vec![base_sha.clone()];
    if method == "merge" {
        parents.push(head_sha.clone());
    }
    let message = title.unwrap_or_else(|| format!("Merge pull request #{number} from {}", pull.head));
    let base = pull.base.clone();
    let draft = Draft { parents, message, author: author.clone(), at, tree };
    let sha = repository.history.commit(&base, draft);
    let merged = Merged { at, by: author.clone(), sha: sha.clone(), head_sha, base_sha };
    if let Some(pull) = repository.pulls.get_mut(&number) {
        pull.merged = Some(merged);
    }
    let issue = repository.issue_mut(number)?;
    issue.updated_at = at;
    move_to(issue, Some("closed"), None, &author, at);
    ok(json!({ "sha": sha, "merged": true, "message": "Pull Request successfully merged" }))
}
