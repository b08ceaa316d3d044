//! Searching issues and repositories.

use serde_json::json;

use super::answers::Answer;
use super::call::Call;
use super::issues::Issue;
use super::listing;
use super::pages;
use super::refusals::Refusal;
use super::repositories::Repository;

/// A query taken apart: words and phrases, and `key:value` qualifiers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Terms {
    /// In lower case.
    words: Vec<String>,
    qualifiers: Vec<(String, String)>,
}

impl Terms {
    fn parse(text: &str) -> Self {
        let mut terms = Self::default();
        for part in parts(text) {
            match part.split_once(':') {
                Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                    let value = value.trim_matches('"').to_lowercase();
                    terms.qualifiers.push((key.to_lowercase(), value));
                }
                _ => terms.words.push(part.trim_matches('"').to_lowercase()),
            }
        }
        terms
    }

    /// The terms of `q`, or 422 where it says nothing.
    fn of(call: &Call) -> Result<Self, Refusal> {
        match call.query.get("q").filter(|text| !text.trim().is_empty()) {
            Some(text) => Ok(Self::parse(text)),
            None => Err(Refusal::invalid_field("Search", "q", "missing")),
        }
    }

    fn in_text(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.words.iter().all(|word| text.contains(word))
    }
}

/// Splits at spaces that are not between quotes.
fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' if !quoted => parts.push(std::mem::take(&mut part)),
            _ => part.push(letter),
        }
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

/// A qualifier that is not known narrows nothing, as on GitHub.
fn issue_fits(repository: &Repository, issue: &Issue, key: &str, value: &str) -> bool {
    let is_pull = repository.pulls.contains_key(&issue.number);
    match (key, value) {
        ("repo", name) => repository.full_name().to_lowercase() == name,
        ("user" | "org", login) => repository.owner.to_lowercase() == login,
        ("is" | "type", "issue") => !is_pull,
        ("is" | "type", "pr") => is_pull,
        ("is" | "state", "open" | "closed") => issue.state() == value,
        ("is", "merged") => repository.pulls.get(&issue.number).is_some_and(|pull| pull.merged.is_some()),
        ("label", name) => issue.labels.iter().any(|label| label == name),
        ("author", login) => issue.author.to_lowercase() == login,
        ("assignee", login) => issue.assignees.iter().any(|one| one.to_lowercase() == login),
        ("no", "label") => issue.labels.is_empty(),
        ("no", "assignee") => issue.assignees.is_empty(),
        ("no", "milestone") => issue.milestone.is_none(),
        _ => true,
    }
}

/// `GET /search/issues`
pub(crate) async fn issues(call: Call) -> Answer {
    let terms = Terms::of(&call)?;
    let world = call.world();
    let visible = |one: &&Repository| !one.protected && one.visible_to(call.caller.as_deref());
    let mut found: Vec<(&Repository, &Issue)> = world
        .repositories
        .values()
        .filter(visible)
        .flat_map(|repository| repository.issues.values().map(move |issue| (repository, issue)))
        .filter(|(repository, issue)| {
            let mut qualifiers = terms.qualifiers.iter();
            qualifiers.all(|(key, value)| issue_fits(repository, issue, key, value))
        })
        .filter(|(_, issue)| {
            terms.in_text(&format!("{} {}", issue.title, issue.body.as_deref().unwrap_or_default()))
        })
        .collect();
    let sort = call.query.get("sort").unwrap_or("created");
    listing::sort(&mut found, &call.query, false, |(_, issue)| match sort {
        "updated" => issue.updated_at.text(),
        _ => issue.created_at.text(),
    });
    Ok(pages::found(&call, &found, |(repository, issue)| {
        let mut value = world.render_issue(repository, issue);
        value["score"] = json!(1.0);
        value
    }))
}

fn repository_fits(repository: &Repository, key: &str, value: &str) -> bool {
    match (key, value) {
        ("repo", name) => repository.full_name().to_lowercase() == name,
        ("user" | "org", login) => repository.owner.to_lowercase() == login,
        ("language", name) => repository.language.as_ref().is_some_and(|one| one.to_lowercase() == name),
        ("topic", name) => repository.topics.iter().any(|one| one == name),
        ("is", "public") => !repository.private,
        ("is", "private") => repository.private,
        ("archived", wanted) => repository.archived.to_string() == wanted,
        _ => true,
    }
}

/// `GET /search/repositories`
pub(crate) async fn repositories(call: Call) -> Answer {
    let terms = Terms::of(&call)?;
    let world = call.world();
    let mut found: Vec<&Repository> = world
        .repositories
        .values()
        .filter(|one| one.visible_to(call.caller.as_deref()))
        .filter(|one| {
            let mut qualifiers = terms.qualifiers.iter();
            qualifiers.all(|(key, value)| repository_fits(one, key, value))
        })
        .filter(|one| {
            terms.in_text(&format!("{} {}", one.name, one.description.as_deref().unwrap_or_default()))
        })
        .collect();
    let sort = call.query.get("sort").unwrap_or_default();
    listing::sort(&mut found, &call.query, false, |one| match sort {
        "stars" => {
            let stars = world.stars.values().filter(|all| all.contains(&one.id));
            format!("{:010}", stars.count())
        }
        "updated" => one.updated_at.text(),
        _ => one.created_at.text(),
    });
    Ok(pages::found(&call, &found, |one| {
        let mut value = world.render_repository(one);
        value["score"] = json!(1.0);
        value
    }))
}

#[cfg(test)]
mod tests {
    use super::Terms;

    #[test]
    fn queries_are_taken_apart() {
        let terms = Terms::parse(r#"Crash "on start" repo:octocat/Hello-World label:"good first issue" :x"#);
        assert_eq!(terms.words, ["crash", "on start", ":x"]);
        let qualifier = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            terms.qualifiers,
            [qualifier("repo", "octocat/hello-world"), qualifier("label", "good first issue")]
        );
    }
}
