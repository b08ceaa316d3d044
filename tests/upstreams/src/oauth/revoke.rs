//! `POST /revoke` (RFC 7009).

use super::app::Turn;
use super::authentication;
use super::call;
use super::refusals::Refusal;
use crate::plain::Answer;

pub(crate) fn answer(turn: &mut Turn<'_>) -> Answer {
    revoked(turn).unwrap_or_else(|refusal| refusal.answer())
}

/// Tokens that are not known are no error: there is nothing left to end.
fn revoked(turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
    let form = call::form(turn.request)?;
    let client = authentication::client(turn, &form)?;
    let token = form.needed("token")?;
    let access = turn.state.access.get(token).map(|one| &one.grant);
    let grant = access.or_else(|| turn.state.refresh.get(token).map(|one| &one.grant));
    if grant.is_some_and(|grant| grant.client != client.id) {
        return Err(Refusal::new("unauthorized_client", "the token was given to another client"));
    }
    turn.state.revoke(token);
    Ok(Answer::new(200, &[("cache-control", "no-store")], ""))
}
