//! What lists have in common: their order.

use super::call::Query;

/// Sorts by a text, ascending where `direction` (or `order`) says so, or says
/// nothing and `ascending` is set.
pub(crate) fn sort<T>(items: &mut [T], query: &Query, ascending: bool, key: impl Fn(&T) -> String) {
    items.sort_by_cached_key(key);
    let ascending = match query.get("direction").or(query.get("order")) {
        Some("asc") => true,
        Some("desc") => false,
        _ => ascending,
    };
    if !ascending {
        items.reverse();
    }
}
