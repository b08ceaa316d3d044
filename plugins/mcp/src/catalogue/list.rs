//! Lists that come in pages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::client::{Ask, Client, failure, rpc_failure};
use crate::rpc::Params;
use crate::seam::Failure;
use crate::transport::Lost;

const MAX_PAGES: usize = 200;
/// What a host takes of a source.
const MAX_ITEMS: usize = 50_000;
const METHOD_NOT_FOUND: i64 = -32_601;
/// What a cursor that the server does not take is answered by.
const INVALID_PARAMS: i64 = -32_602;

/// A list, as far as it could be read.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// Each a JSON text.
    pub(crate) items: Vec<String>,
    /// For how long the server says that it holds; the shortest of its pages.
    pub(crate) ttl_ms: Option<u64>,
    /// Why it ends before the server's end.
    pub(crate) cut: Option<String>,
}

/// Why there is no list.
pub(crate) enum Unlisted {
    /// The server wants a sign-in.
    SignIn(crate::transport::Refused),
    /// Anything else.
    Failed(Failure),
}

/// Lists all of `member`, at most `pages` pages. A cursor that the server gave
/// and does not take cuts the list: that is so each time.
///
/// # Errors
/// When a page can't be had: what is on it is not gone.
pub(crate) fn list(
    client: &mut Client<'_>,
    method: &'static str,
    member: &str,
    pages: usize,
) -> Result<Listed, Unlisted> {
    let mut listed = Listed::default();
    let mut seen = BTreeSet::new();
    let mut params = Params::default();
    for page in 0..pages.min(MAX_PAGES) {
        let ask = Ask { method, params: params.clone(), name: None, headers: Vec::new(), progress: false };
        let result = match client.ask(&ask) {
            Ok(answered) => match answered.outcome {
                Ok(result) => Ok(result),
                Err(error) if error.code == METHOD_NOT_FOUND && page == 0 => return Ok(listed),
                Err(error) if error.code == INVALID_PARAMS && page > 0 => {
                    listed.cut = Some(format!("page {} can't be had: {}", page + 1, error.message));
                    return Ok(listed);
                }
                Err(error) => Err(rpc_failure(&error, answered.status)),
            },
            Err(failed) => match failed.lost {
                Lost::Refused(refused) if refused.status == 401 => return Err(Unlisted::SignIn(refused)),
                _ => Err(failure(failed, true, client.noise())),
            },
        };
        let cursor =
            result.and_then(|result| take(&result, member, &mut listed)).map_err(Unlisted::Failed)?;
        if listed.items.len() > MAX_ITEMS {
            listed.items.truncate(MAX_ITEMS);
            listed.cut = Some(format!("it has more than {MAX_ITEMS} entries"));
            return Ok(listed);
        }
        let Some(cursor) = cursor else { return Ok(listed) };
        if !seen.insert(cursor.clone()) {
            listed.cut = Some("its pages go round in a circle".to_owned());
            return Ok(listed);
        }
        params.set("cursor", Value::from(cursor).to_string());
    }
    if pages >= MAX_PAGES {
        listed.cut = Some(format!("it has more than {MAX_PAGES} pages"));
    }
    Ok(listed)
}

/// Takes what a page has, and gives the cursor of the next.
fn take(result: &str, member: &str, listed: &mut Listed) -> Result<Option<String>, Failure> {
    let malformed = |why: String| Failure::new("upstream-malformed", why);
    let page: BTreeMap<String, &RawValue> = serde_json::from_str(result)
        .map_err(|error| malformed(format!("the server's list can't be read: {error}")))?;
    let small = |name: &str| page.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    if let Some(items) = page.get(member) {
        let items: Vec<&RawValue> = serde_json::from_str(items.get())
            .map_err(|_| malformed(format!("the server's {member} are not an array")))?;
        let room = (MAX_ITEMS + 1).saturating_sub(listed.items.len());
        listed.items.extend(items.into_iter().take(room).map(|item| item.get().to_owned()));
    }
    let ttl = small("ttlMs").as_ref().and_then(Value::as_f64).filter(|ttl| *ttl > 0.0);
    let ttl = ttl.map(|ttl| ttl.min(1.0e12) as u64);
    listed.ttl_ms = match (listed.ttl_ms, ttl) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let cursor = small("nextCursor");
    Ok(cursor.as_ref().and_then(Value::as_str).filter(|cursor| !cursor.is_empty()).map(str::to_owned))
}
