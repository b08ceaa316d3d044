//! Repositories: finding, reading, making, renaming, deleting.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::accounts::{extend, set};
use super::answers::{Answer, created, no_content, ok};
use super::call::{Call, Route};
use super::clock::Timestamp;
use super::comments::Comment;
use super::fields::Fields;
use super::history::{Draft, History, Tree};
use super::issues::Issue;
use super::labels::Label;
use super::listing;
use super::milestones::Milestone;
use super::pages;
use super::pulls::Pull;
use super::reactions::Reaction;
use super::refusals::Refusal;
use super::state::{World, node_id};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RepositoryId(pub(crate) u64);

#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) id: RepositoryId,
    /// A login.
    pub(crate) owner: String,
    /// Whether the owner is an organization; every user is a member of each.
    pub(crate) of_organization: bool,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) homepage: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) topics: Vec<String>,
    pub(crate) private: bool,
    pub(crate) archived: bool,
    /// Answers 403 to everything, as to a token without access to it.
    pub(crate) protected: bool,
    pub(crate) default_branch: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) history: History,
    /// By number, which pull requests share.
    pub(crate) issues: BTreeMap<u32, Issue>,
    pub(crate) pulls: BTreeMap<u32, Pull>,
    pub(crate) comments: BTreeMap<u64, Comment>,
    pub(crate) reactions: BTreeMap<u64, Reaction>,
    /// By name in lower case.
    pub(crate) labels: BTreeMap<String, Label>,
    pub(crate) milestones: BTreeMap<u32, Milestone>,
}

/// What a repository is made from.
#[derive(Debug, Default)]
pub(crate) struct NewRepository {
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) private: bool,
}

impl Repository {
    /// `octocat/hello-world`
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// `/repos/octocat/hello-world`
    pub(crate) fn path(&self) -> String {
        format!("/repos/{}/{}", self.owner, self.name)
    }

    /// Whether `caller` may see it.
    pub(crate) fn visible_to(&self, caller: Option<&str>) -> bool {
        match caller {
            _ if !self.private => true,
            Some(login) => self.of_organization || login == self.owner,
            None => false,
        }
    }

    /// The number that the next issue or pull request gets.
    pub(crate) fn next_number(&self) -> u32 {
        self.issues.keys().next_back().map_or(1, |last| last + 1)
    }

    /// Adds a commit with these files changed (none: removed) to a branch.
    pub(crate) fn change(
        &mut self,
        branch: &str,
        author: &str,
        message: &str,
        at: Timestamp,
        changes: Vec<(String, Option<Bytes>)>,
    ) -> String {
        let head = self.history.resolve(branch);
        let mut tree = head.map_or_else(Tree::new, |commit| commit.tree.clone());
        let parents = head.map(|commit| commit.sha.clone()).into_iter().collect();
        for (path, content) in changes {
            match content {
                Some(content) => tree.insert(path, content),
                None => tree.remove(&path),
            };
        }
        let draft = Draft { parents, message: message.to_owned(), author: author.to_owned(), at, tree };
        self.history.commit(branch, draft)
    }
}

impl World {
    /// The repository, for an operation that reads.
    ///
    /// # Errors
    /// 404 where there is none or the caller may not see it, 301 where it has
    /// another name now, 403 for a protected one.
    pub(crate) fn readable(&self, call: &Call, owner: &str, name: &str) -> Result<RepositoryId, Refusal> {
        let key = format!("{owner}/{name}").to_lowercase();
        let id = self.names.get(&key).ok_or_else(Refusal::not_found)?;
        let repository = self.repositories.get(id).ok_or_else(Refusal::not_found)?;
        if !repository.visible_to(call.caller.as_deref()) {
            return Err(Refusal::not_found());
        }
        if repository.full_name().to_lowercase() != key {
            return Err(Refusal::moved(&call.method, self.new_location(call, repository)));
        }
        if repository.protected {
            return Err(Refusal::forbidden("Resource not accessible by personal access token"));
        }
        Ok(*id)
    }

    /// The repository, for an operation that anyone may write with.
    pub(crate) fn writable(&self, call: &Call, owner: &str, name: &str) -> Result<RepositoryId, Refusal> {
        call.author()?;
        let id = self.readable(call, owner, name)?;
        match self.repository(id).archived {
            true => Err(Refusal::forbidden("Repository was archived so is read-only.")),
            false => Ok(id),
        }
    }

    /// The repository, for an operation that needs the right to push: the
    /// owner's, and for those of organizations anyone's.
    pub(crate) fn pushable(&self, call: &Call, owner: &str, name: &str) -> Result<RepositoryId, Refusal> {
        let id = self.writable(call, owner, name)?;
        let repository = self.repository(id);
        if repository.of_organization || call.author()? == repository.owner {
            return Ok(id);
        }
        Err(Refusal::forbidden("Must have admin rights to Repository."))
    }

    pub(crate) fn repository(&self, id: RepositoryId) -> &Repository {
        &self.repositories[&id]
    }

    /// The repository, of an id that was just found.
    pub(crate) fn repository_mut(&mut self, id: RepositoryId) -> &mut Repository {
        self.repositories.get_mut(&id).expect("the id was found under the lock that is still held")
    }

    fn new_location(&self, call: &Call, repository: &Repository) -> String {
        let full_name = repository.full_name();
        let path = match call.path.strip_prefix("/repos/") {
            // What follows the owner and the name stays.
            Some(rest) => match rest.splitn(3, '/').nth(2) {
                Some(tail) => format!("/repos/{full_name}/{tail}"),
                None => format!("/repos/{full_name}"),
            },
            None => format!("/user/starred/{full_name}"),
        };
        let mut location = self.url(&path);
        let query = call.query.text();
        if !query.is_empty() {
            location.push('?');
            location.push_str(&query);
        }
        location
    }

    pub(crate) fn add_repository(&mut self, new: NewRepository) -> RepositoryId {
        let at = self.tick();
        let id = RepositoryId(self.next_id());
        let repository = Repository {
            id,
            of_organization: self.organization(&new.owner).is_ok(),
            owner: new.owner,
            name: new.name,
            description: new.description,
            homepage: None,
            language: None,
            topics: Vec::new(),
            private: new.private,
            archived: false,
            protected: false,
            default_branch: "main".to_owned(),
            created_at: at,
            updated_at: at,
            history: History::default(),
            issues: BTreeMap::new(),
            pulls: BTreeMap::new(),
            comments: BTreeMap::new(),
            reactions: BTreeMap::new(),
            labels: BTreeMap::new(),
            milestones: BTreeMap::new(),
        };
        self.names.insert(repository.full_name().to_lowercase(), id);
        self.repositories.insert(id, repository);
        id
    }

    /// Gives it another name; the former one leads to it from now on.
    pub(crate) fn rename_repository(&mut self, id: RepositoryId, name: &str) {
        let repository = self.repository_mut(id);
        repository.name = name.to_owned();
        let key = repository.full_name().to_lowercase();
        self.names.insert(key, id);
    }

    fn name_is_taken(&self, owner: &str, name: &str) -> bool {
        let key = format!("{owner}/{name}").to_lowercase();
        let taken = |id| self.repositories.get(id).is_some_and(|one| one.full_name().to_lowercase() == key);
        self.names.get(&key).is_some_and(taken)
    }

    /// The repository with all that GitHub's shorter forms have too.
    pub(crate) fn render_repository(&self, repository: &Repository) -> Value {
        let url = self.url(&repository.path());
        let html = self.url(&format!("/{}", repository.full_name()));
        let mut fields = Map::new();
        extend(
            &mut fields,
            json!({
                "id": repository.id.0,
                "node_id": node_id("Repository", repository.id.0),
                "name": repository.name,
                "full_name": repository.full_name(),
                "private": repository.private,
                "owner": self.simple_user(&repository.owner),
                "html_url": html,
                "description": repository.description,
                "fork": false,
                "url": url,
                "git_url": format!("{html}.git"),
                "ssh_url": format!("{html}.git"),
                "clone_url": format!("{html}.git"),
                "svn_url": html,
                "homepage": repository.homepage,
            }),
        );
        for (name, path) in URLS {
            fields.insert((*name).to_owned(), json!(format!("{url}{path}")));
        }
        extend(&mut fields, self.render_counts(repository));
        Value::Object(fields)
    }

    fn render_counts(&self, repository: &Repository) -> Value {
        let open = repository.issues.values().filter(|issue| issue.closed_at.is_none()).count();
        let starred = |all: &&Vec<RepositoryId>| all.contains(&repository.id);
        let stars = self.stars.values().filter(starred).count();
        let bytes: usize = repository
            .history
            .resolve(&repository.default_branch)
            .map_or(0, |commit| commit.tree.values().map(Bytes::len).sum());
        json!({
            "language": repository.language,
            "topics": repository.topics,
            "forks_count": 0, "forks": 0, "network_count": 0,
            "stargazers_count": stars, "watchers_count": stars, "watchers": stars,
            "subscribers_count": 0,
            "open_issues_count": open, "open_issues": open,
            "size": bytes.div_ceil(1024),
            "default_branch": repository.default_branch,
            "is_template": false,
            "has_issues": true, "has_projects": true, "has_wiki": true, "has_pages": false,
            "has_downloads": true, "has_discussions": false,
            "archived": repository.archived,
            "disabled": false,
            "visibility": if repository.private { "private" } else { "public" },
            "mirror_url": null,
            "license": null,
            "pushed_at": repository.updated_at.text(),
            "created_at": repository.created_at.text(),
            "updated_at": repository.updated_at.text(),
            "permissions": { "admin": true, "push": true, "pull": true },
        })
    }
}

/// The links of a repository, by the path that follows its own URL.
const URLS: &[(&str, &str)] = &[
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
];

/// `GET /repos/{owner}/{repo}`
pub(crate) async fn get(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let world = call.world();
    let id = world.readable(&call, &owner, &name)?;
    ok(world.render_repository(world.repository(id)))
}

/// `GET /user/repos`
pub(crate) async fn list_authenticated(call: Call) -> Answer {
    let login = call.author()?.to_owned();
    list_owned(&call, &login)
}

/// `GET /users/{username}/repos`
pub(crate) async fn list_of_user(call: Call, Route(username): Route<String>) -> Answer {
    let login = call.world().account(&username)?.login.clone();
    list_owned(&call, &login)
}

/// `GET /orgs/{org}/repos`
pub(crate) async fn list_of_organization(call: Call, Route(login): Route<String>) -> Answer {
    let login = call.world().organization(&login)?.login.clone();
    list_owned(&call, &login)
}

fn list_owned(call: &Call, login: &str) -> Answer {
    let world = call.world();
    let wanted = match (call.query.get("visibility"), call.query.get("type")) {
        (Some("public"), _) | (_, Some("public")) => Some(false),
        (Some("private"), _) | (_, Some("private")) => Some(true),
        _ => None,
    };
    let mut owned: Vec<&Repository> = world
        .repositories
        .values()
        .filter(|one| one.owner == login && one.visible_to(call.caller.as_deref()))
        .filter(|one| wanted.is_none_or(|private| one.private == private))
        .collect();
    let sort = call.query.get("sort").unwrap_or("full_name");
    listing::sort(&mut owned, &call.query, sort == "full_name", |one| match sort {
        "created" => one.created_at.text(),
        "updated" | "pushed" => one.updated_at.text(),
        _ => one.full_name().to_lowercase(),
    });
    Ok(pages::list(call, &owned, |one| world.render_repository(one)))
}

/// `POST /user/repos`
pub(crate) async fn create(call: Call) -> Answer {
    let login = call.author()?.to_owned();
    create_for(&call, login)
}

/// `POST /orgs/{org}/repos`
pub(crate) async fn create_in_organization(call: Call, Route(login): Route<String>) -> Answer {
    call.author()?;
    let owner = call.world().organization(&login)?.login.clone();
    create_for(&call, owner)
}

fn create_for(call: &Call, owner: String) -> Answer {
    let author = call.author()?;
    let mut fields = Fields::of(call, "Repository")?;
    let name = fields.required_text("name");
    let description = fields.text("description");
    let homepage = fields.text("homepage");
    let private = fields.boolean("private").unwrap_or(false);
    let with_readme = fields.boolean("auto_init").unwrap_or(false);
    let mut world = call.world();
    if !name.is_empty() && !is_name(&name) {
        fields.fail::<()>("name", "invalid");
    } else if world.name_is_taken(&owner, &name) {
        fields.fail::<()>("name", "already_exists");
    }
    fields.finish()?;
    let new = NewRepository { owner, name, description, private };
    let id = world.add_repository(new);
    world.seed_labels(id);
    let at = world.tick();
    let repository = world.repository_mut(id);
    repository.homepage = homepage;
    if with_readme {
        let readme = Bytes::from(format!("# {}\n", repository.name));
        let files = vec![("README.md".to_owned(), Some(readme))];
        repository.change("main", author, "Initial commit", at, files);
    }
    created(world.render_repository(world.repository(id)))
}

/// Letters, digits, `-`, `_` and `.`, at most 100.
fn is_name(name: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    name.len() <= 100 && name.chars().all(allowed) && !matches!(name, "." | "..")
}

/// `PATCH /repos/{owner}/{repo}`
pub(crate) async fn update(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    let mut fields = Fields::of(&call, "Repository")?;
    let new_name = fields.text("name");
    let description = fields.text_change("description");
    let homepage = fields.text_change("homepage");
    let private = fields.boolean("private");
    let archived = fields.boolean("archived");
    let default_branch = fields.text("default_branch");
    if let Some(new_name) = &new_name {
        let same = new_name.eq_ignore_ascii_case(&name);
        if !is_name(new_name) || new_name.is_empty() {
            fields.fail::<()>("name", "invalid");
        } else if !same && world.name_is_taken(&owner, new_name) {
            fields.fail::<()>("name", "already_exists");
        }
    }
    let branches = &world.repository(id).history.branches;
    if default_branch.as_ref().is_some_and(|branch| !branches.contains_key(branch)) {
        fields.fail::<()>("default_branch", "invalid");
    }
    fields.finish()?;
    if let Some(new_name) = new_name {
        world.rename_repository(id, &new_name);
    }
    let at = world.tick();
    let repository = world.repository_mut(id);
    set(&mut repository.description, description);
    set(&mut repository.homepage, homepage);
    set(&mut repository.private, private);
    set(&mut repository.archived, archived);
    set(&mut repository.default_branch, default_branch);
    repository.updated_at = at;
    ok(world.render_repository(world.repository(id)))
}

/// `DELETE /repos/{owner}/{repo}`
pub(crate) async fn delete(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let mut world = call.world();
    let id = world.pushable(&call, &owner, &name)?;
    world.repositories.remove(&id);
    world.names.retain(|_, named| *named != id);
    for starred in world.stars.values_mut() {
        starred.retain(|one| *one != id);
    }
    no_content()
}
