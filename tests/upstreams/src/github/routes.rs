//! Which operation answers which path: the list of what is emulated.

use axum::Router;
use axum::routing::{delete, get, patch, post, put};

use super::refusals::Refusal;
use super::{
    accounts, branches, comments, commits, contents, document, gists, issues, labels, meta, milestones,
    organizations, pulls, reactions, repositories, search, stars,
};

pub(crate) fn router() -> Router {
    Router::new()
        .merge(meta_routes())
        .merge(account_routes())
        .merge(gist_routes())
        .nest("/repos/{owner}/{repo}", repository_routes())
        .fallback(async || Refusal::not_found())
        // GitHub answers 404 to a method that a path does not have.
        .method_not_allowed_fallback(async || Refusal::not_found())
}

fn meta_routes() -> Router {
    Router::new()
        .route("/", get(meta::root))
        .route("/openapi.json", get(document::get))
        .route("/zen", get(meta::zen))
        .route("/octocat", get(meta::octocat))
        .route("/rate_limit", get(meta::rate_limit))
        .route("/versions", get(meta::versions))
        .route("/search/issues", get(search::issues))
        .route("/search/repositories", get(search::repositories))
}

fn account_routes() -> Router {
    Router::new()
        .route("/user", get(accounts::get_authenticated).patch(accounts::update_authenticated))
        .route("/user/repos", get(repositories::list_authenticated).post(repositories::create))
        .route("/user/starred", get(stars::list))
        .route("/user/starred/{owner}/{repo}", get(stars::check).put(stars::star).delete(stars::unstar))
        .route("/users", get(accounts::list))
        .route("/users/{username}", get(accounts::get))
        .route("/users/{username}/repos", get(repositories::list_of_user))
        .route("/users/{username}/gists", get(gists::list_of_user))
        .route("/orgs/{org}", get(organizations::get))
        .route(
            "/orgs/{org}/repos",
            get(repositories::list_of_organization).post(repositories::create_in_organization),
        )
}

fn gist_routes() -> Router {
    Router::new()
        .route("/gists", get(gists::list).post(gists::create))
        .route("/gists/public", get(gists::list_public))
        .route("/gists/{gist_id}", get(gists::get).patch(gists::update).delete(gists::delete))
}

fn repository_routes() -> Router {
    Router::new()
        .route("/", get(repositories::get).patch(repositories::update).delete(repositories::delete))
        .merge(code_routes())
        .merge(issue_routes())
        .merge(label_routes())
        .merge(pull_routes())
}

fn code_routes() -> Router {
    Router::new()
        .route("/branches", get(branches::list))
        .route("/branches/{branch}", get(branches::get))
        .route("/merges", post(branches::merge))
        .route("/commits", get(commits::list))
        .route("/commits/{ref}", get(commits::get))
        .route("/readme", get(contents::get_readme))
        .route("/contents/", get(contents::get_root))
        .route("/contents/{*path}", get(contents::get).put(contents::put).delete(contents::delete))
}

fn issue_routes() -> Router {
    Router::new()
        .route("/issues", get(issues::list).post(issues::create))
        .route("/issues/{issue_number}", get(issues::get).patch(issues::update))
        .route("/issues/{issue_number}/lock", put(issues::lock).delete(issues::unlock))
        .route("/issues/{issue_number}/comments", get(comments::list).post(comments::create))
        .route(
            "/issues/comments/{comment_id}",
            get(comments::get).patch(comments::update).delete(comments::delete),
        )
        .route(
            "/issues/{issue_number}/reactions",
            get(reactions::list_of_issue).post(reactions::create_for_issue),
        )
        .route("/issues/{issue_number}/reactions/{reaction_id}", delete(reactions::delete_of_issue))
        .route(
            "/issues/comments/{comment_id}/reactions",
            get(reactions::list_of_comment).post(reactions::create_for_comment),
        )
}

fn label_routes() -> Router {
    Router::new()
        .route("/labels", get(labels::list).post(labels::create))
        .route("/labels/{name}", get(labels::get).patch(labels::update).delete(labels::delete))
        .route(
            "/issues/{issue_number}/labels",
            get(labels::list_of_issue).post(labels::add_to_issue).put(labels::set_of_issue),
        )
        .route("/issues/{issue_number}/labels/{name}", delete(labels::remove_from_issue))
        .route("/milestones", get(milestones::list).post(milestones::create))
        .route(
            "/milestones/{milestone_number}",
            get(milestones::get).patch(milestones::update).delete(milestones::delete),
        )
}

fn pull_routes() -> Router {
    Router::new()
        .route("/pulls", get(pulls::list).post(pulls::create))
        .route("/pulls/{pull_number}", get(pulls::get))
        .route("/pulls/{pull_number}", patch(pulls::update))
        .route("/pulls/{pull_number}/commits", get(pulls::list_commits))
        .route("/pulls/{pull_number}/merge", get(pulls::check_merged).put(pulls::merge))
}
