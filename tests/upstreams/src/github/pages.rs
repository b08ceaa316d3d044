//! Pages of lists, and the Link headers (RFC 8288) between them.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::answers;
use super::call::{Call, Query};

const DEFAULT_SIZE: usize = 30;
const LARGEST_SIZE: usize = 100;

/// Which part of a list was asked for. Sizes out of range are put right, as
/// GitHub does, and a page past the end is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    number: usize,
    size: usize,
}

impl Page {
    pub(crate) fn of(query: &Query) -> Self {
        let size = query.number("per_page").filter(|size| *size > 0);
        Self {
            number: query.number("page").unwrap_or(1).max(1),
            size: size.unwrap_or(DEFAULT_SIZE).min(LARGEST_SIZE),
        }
    }

    fn slice<T>(self, items: &[T]) -> &[T] {
        let start = (self.number - 1).saturating_mul(self.size);
        let rest = items.get(start..).unwrap_or_default();
        &rest[..rest.len().min(self.size)]
    }

    fn links(self, call: &Call, total: usize) -> Option<HeaderValue> {
        let last = total.div_ceil(self.size).max(1);
        let link = |number: usize, relation: &str| {
            let query = call.query.with("page", &number.to_string());
            format!("<{}{}?{query}>; rel=\"{relation}\"", call.app.origin, call.path)
        };
        let mut links = Vec::new();
        if self.number > 1 {
            links.push(link((self.number - 1).min(last), "prev"));
        }
        if self.number < last {
            links.push(link(self.number + 1, "next"));
            links.push(link(last, "last"));
        }
        if self.number > 1 {
            links.push(link(1, "first"));
        }
        match links.is_empty() {
            true => None,
            false => HeaderValue::try_from(links.join(", ")).ok(),
        }
    }
}

/// The page of `items` that was asked for, as a JSON array.
pub(crate) fn list<T>(call: &Call, items: &[T], render: impl FnMut(&T) -> Value) -> Response {
    let page = Page::of(&call.query);
    let rendered = page.slice(items).iter().map(render).collect();
    linked(call, page, items.len(), Value::Array(rendered))
}

/// The page of `items` that was asked for, in the envelope of a search.
pub(crate) fn found<T>(call: &Call, items: &[T], render: impl FnMut(&T) -> Value) -> Response {
    let page = Page::of(&call.query);
    let rendered: Vec<Value> = page.slice(items).iter().map(render).collect();
    let body = json!({
        "total_count": items.len(),
        "incomplete_results": false,
        "search_type": "lexical",
        "items": rendered,
    });
    linked(call, page, items.len(), body)
}

fn linked(call: &Call, page: Page, total: usize, body: Value) -> Response {
    let mut response = answers::json(StatusCode::OK, body);
    if let Some(links) = page.links(call, total) {
        response.headers_mut().insert(header::LINK, links);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_put_right() {
        let of = |query: &str| Page::of(&Query::parse(query)).size;
        assert_eq!(of(""), 30);
        assert_eq!(of("per_page=0"), 30);
        assert_eq!(of("per_page=1000"), 100);
        assert_eq!(of("per_page=x"), 30);
    }

    #[test]
    fn pages_past_the_end_are_empty() {
        let slice = |query: &str| Page::of(&Query::parse(query)).slice(&[1, 2, 3, 4, 5]).to_vec();
        assert_eq!(slice("per_page=2&page=3"), [5]);
        assert!(slice("per_page=2&page=4").is_empty());
        assert!(slice("page=18446744073709551615").is_empty());
    }
}
