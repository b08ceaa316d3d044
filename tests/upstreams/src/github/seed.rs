//! What is there at the start, the same each time.
//!
//! | what | for |
//! |---|---|
//! | users `octocat`, `hubot`, organization `github` | accounts |
//! | `octocat/hello-world`: 45 issues (every third closed), labels, comments, a milestone, branches `feature` (merges) and `conflicting` (does not), a pull request of each | the ordinary |
//! | `octocat/hello-mars` | the former name of `octocat/hello-world`: redirects |
//! | `octocat/secret` | private: 404 without octocat's token |
//! | `octocat/protected` | 403 to everything |
//! | `octocat/archived` | 403 to writes |
//! | `octocat/empty` | no commit, no issue |
//! | `github/docs` | an organization's |

use std::collections::BTreeMap;

use bytes::Bytes;

use super::accounts::Kind;
use super::repositories::{NewRepository, RepositoryId};
use super::state::World;

const ISSUES: u32 = 45;

pub(crate) fn world(origin: &str) -> World {
    let mut world = World::new(origin);
    accounts(&mut world);
    hello_world(&mut world);
    for (owner, name, private) in [
        ("octocat", "secret", true),
        ("octocat", "protected", false),
        ("octocat", "archived", false),
        ("octocat", "empty", false),
        ("github", "docs", false),
    ] {
        let id = repository(&mut world, owner, name, private);
        if name != "empty" {
            write(&mut world, id, "main", "Initial commit", &[("README.md", name)]);
            world.add_issue(id, owner, "The only issue", None);
        }
        let repository = world.repository_mut(id);
        repository.protected = name == "protected";
        repository.archived = name == "archived";
    }
    let files = BTreeMap::from([("hello.txt".to_owned(), "Hello gist".to_owned())]);
    world.add_gist("octocat", Some("A greeting".to_owned()), true, files);
    world
}

fn accounts(world: &mut World) {
    let octocat = world.add_account("octocat", Kind::User);
    octocat.name = Some("The Octocat".to_owned());
    octocat.company = Some("@github".to_owned());
    octocat.blog = "https://github.blog".to_owned();
    octocat.location = Some("San Francisco".to_owned());
    let hubot = world.add_account("hubot", Kind::User);
    hubot.name = Some("Hubot".to_owned());
    let github = world.add_account("github", Kind::Organization);
    github.name = Some("GitHub".to_owned());
    github.bio = Some("How people build software.".to_owned());
}

fn repository(world: &mut World, owner: &str, name: &str, private: bool) -> RepositoryId {
    let id = world.add_repository(NewRepository {
        owner: owner.to_owned(),
        name: name.to_owned(),
        description: Some(format!("The repository {name}")),
        private,
    });
    world.seed_labels(id);
    id
}

fn write(world: &mut World, id: RepositoryId, branch: &str, message: &str, files: &[(&str, &str)]) {
    let at = world.tick();
    let repository = world.repository_mut(id);
    let author = repository.owner.clone();
    let changes = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), Some(Bytes::copy_from_slice(text.as_bytes()))))
        .collect();
    repository.change(branch, &author, message, at, changes);
}

fn hello_world(world: &mut World) {
    let id = repository(world, "octocat", "hello-mars", false);
    world.rename_repository(id, "hello-world");
    let repository = world.repository_mut(id);
    repository.description = Some("My first repository".to_owned());
    repository.language = Some("Rust".to_owned());
    repository.topics = vec!["greeting".to_owned(), "octocat".to_owned()];
    issues(world, id);
    branches(world, id);
    world.add_pull(id, "octocat", "Add a feature", ("feature", "main"));
    world.add_pull(id, "hubot", "Greet otherwise", ("conflicting", "main"));
}

fn issues(world: &mut World, id: RepositoryId) {
    let milestone = world.add_milestone(id, "octocat", "v1.0");
    for number in 1..=ISSUES {
        let author = match number % 2 {
            0 => "hubot",
            _ => "octocat",
        };
        let title = format!("Found a bug, number {number}");
        let body = Some(format!("Report {number}: it does not work."));
        world.add_issue(id, author, &title, body);
        let at = world.tick();
        let Ok(issue) = world.repository_mut(id).issue_mut(number) else {
            continue;
        };
        if number % 3 == 0 {
            issue.closed_at = Some(at);
            issue.closed_by = Some("octocat".to_owned());
            issue.state_reason = Some("completed");
        }
        if number % 4 == 0 {
            issue.labels = vec!["bug".to_owned()];
            issue.assignees = vec!["octocat".to_owned()];
        }
        if number <= 5 {
            issue.milestone = Some(milestone);
        }
    }
    world.add_comment(id, 1, "hubot", "I see it too.");
    world.add_comment(id, 1, "octocat", "Fixed soon.");
}

fn branches(world: &mut World, id: RepositoryId) {
    let readme = "# Hello World\n\nMy first repository.\n";
    let files = [("README.md", readme), ("src/main.rs", "fn main() {}\n")];
    write(world, id, "main", "Initial commit", &files);
    let repository = world.repository_mut(id);
    let root = repository.history.branches["main"].clone();
    for branch in ["feature", "conflicting"] {
        repository.history.branches.insert(branch.to_owned(), root.clone());
    }
    write(world, id, "feature", "Add a feature", &[("src/feature.rs", "pub fn feature() {}\n")]);
    write(world, id, "conflicting", "Greet otherwise", &[("README.md", "# Good day\n")]);
    write(world, id, "main", "Say more", &[("README.md", "# Hello World\n\nIt greets.\n")]);
}
