//! Pages that the daemon makes itself: small, whole in one answer, without
//! any script, and never in a frame.
//!
//! Text can't come into a page but escaped: what stands in it as it is has to
//! be in the program.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

/// The one style of all pages.
const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:12vh auto;padding:0 1rem;color:#222;background:#fff}\
h1{font-size:1.3rem}label{display:block;margin:1rem 0}\
input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.5rem;border:1px solid #888;border-radius:4px}\
button{font:inherit;padding:.5rem 1.2rem;border:0;border-radius:4px;background:#1a56c4;color:#fff;cursor:pointer}\
.wrong{color:#a40000;font-weight:600}.note{color:#555}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}.note{color:#aaa}.wrong{color:#ff8a80}\
input{color:inherit;background:#222}}";

/// SHA-256 of the style, as a policy names it: a style that somebody brings in
/// is not used.
const POLICY: &str = "default-src 'none'; style-src 'sha256-L8DXic7utXbWGKfjMl+5OMls6uQWtIppMBZ+RUdcIaA='; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'";

/// Nothing of a window that another site opened can be reached from there.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// A piece of a page.
#[derive(Debug, Default)]
pub(crate) struct Html(String);

impl Html {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds markup of the program's own.
    #[must_use]
    pub(crate) fn raw(mut self, markup: &'static str) -> Self {
        self.0.push_str(markup);
        self
    }

    /// Adds a text that is shown as it is, whoever wrote it: between tags, and
    /// in quoted attributes.
    #[must_use]
    pub(crate) fn text(mut self, text: &str) -> Self {
        escape(text, &mut self.0);
        self
    }

    /// Adds another piece.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.push_str(&other.0);
        self
    }
}

/// Escapes what has a meaning in HTML, and leaves out what is not seen but
/// turns the order of what is.
fn escape(text: &str, into: &mut String) {
    for character in text.chars() {
        match character {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            '\n' | '\t' => into.push(' '),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            character if character.is_control() => {}
            character => into.push(character),
        }
    }
}

/// A page.
pub(crate) fn page(status: StatusCode, title: &str, body: Html) -> Response {
    let page = Html::new()
        .raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>")
        .text(title)
        .raw(" – executor</title><style>")
        .raw(STYLE)
        .raw("</style></head><body><h1>")
        .text(title)
        .raw("</h1>")
        .and(body)
        .raw("</body></html>");
    let mut response = Response::new(Body::from(page.0));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    private(headers);
    response
}

/// Sends the browser on to another page of ours.
pub(crate) fn see(place: &'static str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(place));
    private(response.headers_mut());
    response
}

/// A page's address may be a secret: nobody keeps it, and no other site is
/// told. `no-referrer` would say less, but then a form's own request comes
/// with `Origin: null` (Fetch, "append a request Origin header"), like one of
/// a page that hides who it is.
fn private(headers: &mut HeaderMap) {
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use http_body_util::BodyExt;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_policy_names_the_style_that_there_is() {
        let hash = format!("'sha256-{}'", BASE64.encode(Sha256::digest(STYLE)));
        assert!(POLICY.contains(&hash), "the policy has to name {hash}");
        assert!(!POLICY.contains("script") && !POLICY.contains("unsafe"));
    }

    #[tokio::test]
    async fn a_text_never_becomes_markup() {
        let hostile = "</title><script>alert(1)</script>\"'&\u{202e}\u{0}";
        let body = Html::new().raw("<input value=\"").text(hostile).raw("\">");
        let response = page(StatusCode::OK, hostile, body);
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert!(!text.contains("<script") && !text.contains('\u{202e}') && !text.contains('\u{0}'), "{text}");
        assert!(
            text.contains("value=\"&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\">")
        );
    }

    #[test]
    fn a_page_is_kept_nowhere_and_framed_by_nobody() {
        for response in [page(StatusCode::OK, "x", Html::new()), see("/login")] {
            let header = |name: &HeaderName| response.headers()[name].to_str().unwrap().to_owned();
            assert_eq!(header(&CACHE_CONTROL), "no-store");
            assert_eq!(header(&REFERRER_POLICY), "same-origin");
            assert_eq!(header(&OPENER_POLICY), "same-origin");
        }
        assert!(POLICY.contains("frame-ancestors 'none'") && POLICY.contains("form-action 'self'"));
    }
}
