//! What is about the API itself.

use http::StatusCode;
use serde_json::{Value, json};

use super::answers::{self, Answer, ok};
use super::call::Call;

const ZEN: &str = "Approachable is better than simple.";
const CAT: &str = r"
   /\_/\
  ( o.o )
   > ^ <
";

/// The links of the root, those to operations that are not emulated too.
const LINKS: &[(&str, &str)] = &[
    ("current_user_url", "/user"),
    ("current_user_authorizations_html_url", "/settings/connections/applications{/client_id}"),
    ("authorizations_url", "/authorizations"),
    ("code_search_url", "/search/code?q={query}{&page,per_page,sort,order}"),
    ("commit_search_url", "/search/commits?q={query}{&page,per_page,sort,order}"),
    ("emails_url", "/user/emails"),
    ("emojis_url", "/emojis"),
    ("events_url", "/events"),
    ("feeds_url", "/feeds"),
    ("followers_url", "/user/followers"),
    ("following_url", "/user/following{/target}"),
    ("gists_url", "/gists{/gist_id}"),
    ("issue_search_url", "/search/issues?q={query}{&page,per_page,sort,order}"),
    ("issues_url", "/issues"),
    ("keys_url", "/user/keys"),
    ("label_search_url", "/search/labels?q={query}&repository_id={repository_id}{&page,per_page}"),
    ("notifications_url", "/notifications"),
    ("organization_url", "/orgs/{org}"),
    ("organization_repositories_url", "/orgs/{org}/repos{?type,page,per_page,sort}"),
    ("organization_teams_url", "/orgs/{org}/teams"),
    ("public_gists_url", "/gists/public"),
    ("rate_limit_url", "/rate_limit"),
    ("repository_url", "/repos/{owner}/{repo}"),
    ("repository_search_url", "/search/repositories?q={query}{&page,per_page,sort,order}"),
    ("current_user_repositories_url", "/user/repos{?type,page,per_page,sort}"),
    ("starred_url", "/user/starred{/owner}{/repo}"),
    ("starred_gists_url", "/gists/starred"),
    ("user_url", "/users/{user}"),
    ("user_organizations_url", "/user/orgs"),
    ("user_repositories_url", "/users/{user}/repos{?type,page,per_page,sort}"),
    ("user_search_url", "/search/users?q={query}{&page,per_page,sort,order}"),
];

/// `GET /`
pub(crate) async fn root(call: Call) -> Answer {
    let absolute =
        |(name, path): &(&str, &str)| ((*name).to_owned(), json!(format!("{}{path}", call.app.origin)));
    ok(Value::Object(LINKS.iter().map(absolute).collect()))
}

/// `GET /zen`, which is text
pub(crate) async fn zen(_: Call) -> Answer {
    Ok(answers::body_of(StatusCode::OK, "text/plain;charset=utf-8", ZEN))
}

/// `GET /octocat`, which is text of a media type of its own
pub(crate) async fn octocat(call: Call) -> Answer {
    let words = call.query.get("s").unwrap_or(ZEN);
    let body = format!("{CAT}{words}\n");
    Ok(answers::body_of(StatusCode::OK, "application/octocat-stream", body))
}

/// `GET /rate_limit`
pub(crate) async fn rate_limit(call: Call) -> Answer {
    ok(call.app.rates.overview(call.caller.as_deref()))
}

/// `GET /versions`
pub(crate) async fn versions(_: Call) -> Answer {
    ok(json!(["2022-11-28"]))
}
