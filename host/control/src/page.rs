//! Lists, a page at a time.

use std::fmt::Display;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// Items on a page where nothing is said, and at most.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1_000;

/// A page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which page.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// At most so many, 100 by default and 1,000 at most.
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// A cursor is opaque to those who carry it: what it holds may change.
pub(crate) fn cursor(place: impl Display) -> String {
    BASE64.encode(place.to_string())
}

impl PageQuery {
    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX)
    }

    /// What the cursor holds.
    pub(crate) fn place<T: FromStr>(&self) -> Result<Option<T>, Problem> {
        let Some(given) = &self.cursor else { return Ok(None) };
        let place = BASE64.decode(given).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let place = place.and_then(|text| text.parse().ok());
        place.map(Some).ok_or_else(|| {
            let shown: String = given.chars().take(80).collect();
            Problem::invalid(format!("{shown:?} is no cursor of this list"))
                .hint("a cursor is the next_cursor of the page before, as it is")
        })
    }

    /// The page of a list that is at hand. An item that went away between two
    /// pages hides none of the others.
    pub(crate) fn page<T>(&self, all: Vec<T>, key: impl Fn(&T) -> String) -> Result<Page<T>, Problem> {
        let begin = match self.place::<String>()? {
            None => 0,
            Some(place) => {
                let (number, last) = place.split_once(' ').unwrap_or((&place, ""));
                let number: usize = number.parse().map_err(|_| {
                    Problem::invalid("the cursor belongs to another list")
                        .hint("a cursor is the next_cursor of the page before, as it is")
                })?;
                all.iter()
                    .position(|item| key(item) == last)
                    .map_or(number.saturating_sub(1), |found| found + 1)
            }
        };
        let total = all.len();
        let items: Vec<T> = all.into_iter().skip(begin).take(self.limit()).collect();
        let end = begin.saturating_add(items.len());
        let next_cursor =
            items.last().filter(|_| end < total).map(|last| cursor(format_args!("{end} {}", key(last))));
        Ok(Page { items, next_cursor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn pages_follow_each_other_though_items_come_and_go() {
        let query = |limit, cursor: Option<&str>| PageQuery { limit, cursor: cursor.map(str::to_owned) };
        let page = |all: &[&str], limit, cursor: Option<&str>| {
            query(Some(limit), cursor).page(names(all), String::clone).unwrap()
        };
        let first = page(&["a", "b", "c", "d"], 2, None);
        assert_eq!(first.items, ["a", "b"]);
        let cursor = first.next_cursor.unwrap();
        assert_eq!(page(&["a", "b", "c", "d"], 2, Some(&cursor)).items, ["c", "d"]);
        assert_eq!(page(&["0", "a", "b", "c"], 2, Some(&cursor)).items, ["c"], "one came before");
        assert_eq!(page(&["a", "c", "d"], 2, Some(&cursor)).items, ["c", "d"], "the last one went");
        assert!(page(&["a", "b"], 2, None).next_cursor.is_none());
        for wrong in ["", "%%%", "bm8", "x"] {
            assert!(query(None, Some(wrong)).page(names(&["a"]), String::clone).is_err(), "{wrong}");
        }
    }
}
