//! What the caller starred.

use super::answers::{Answer, no_content};
use super::call::{Call, Route};
use super::pages;
use super::refusals::Refusal;
use super::repositories::Repository;

/// `GET /user/starred`
pub(crate) async fn list(call: Call) -> Answer {
    let login = call.author()?;
    let world = call.world();
    let starred: Vec<&Repository> = world
        .stars
        .get(login)
        .into_iter()
        .flatten()
        .rev()
        .filter_map(|id| world.repositories.get(id))
        .collect();
    Ok(pages::list(&call, &starred, |one| world.render_repository(one)))
}

/// `GET /user/starred/{owner}/{repo}`
pub(crate) async fn check(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let login = call.author()?;
    let world = call.world();
    let id = world.readable(&call, &owner, &name)?;
    match world.stars.get(login).is_some_and(|all| all.contains(&id)) {
        true => no_content(),
        false => Err(Refusal::not_found()),
    }
}

/// `PUT /user/starred/{owner}/{repo}`
pub(crate) async fn star(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let login = call.author()?;
    let mut world = call.world();
    let id = world.readable(&call, &owner, &name)?;
    let stars = world.stars.entry(login.to_owned()).or_default();
    if !stars.contains(&id) {
        stars.push(id);
    }
    no_content()
}

/// `DELETE /user/starred/{owner}/{repo}`
pub(crate) async fn unstar(call: Call, Route((owner, name)): Route<(String, String)>) -> Answer {
    let login = call.author()?;
    let mut world = call.world();
    let id = world.readable(&call, &owner, &name)?;
    let stars = world.stars.entry(login.to_owned()).or_default();
    stars.retain(|one| *one != id);
    no_content()
}
