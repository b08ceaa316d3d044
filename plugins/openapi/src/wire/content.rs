//! Media types, as far as they decide how bytes are read and written.

use super::binding::BodyKind;

const MAX_MEDIA_TYPE_CHARS: usize = 120;

/// How an answer's bytes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Json,
    /// One JSON value a line.
    Lines,
    /// Server-sent events.
    Events,
    Text,
    Binary,
}

/// `type/subtype` in lower case, without parameters.
pub(crate) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// How bytes of a media type are read. One that is not known is binary.
pub(crate) fn kind(media_type: &str) -> Content {
    let essence = essence(media_type);
    let (main, sub) = essence.split_once('/').unwrap_or((&essence, ""));
    if matches!(
        sub,
        "x-ndjson"
            | "ndjson"
            | "jsonl"
            | "x-jsonl"
            | "jsonlines"
            | "x-jsonlines"
            | "json-lines"
            | "stream+json"
            | "json-seq"
    ) || sub.ends_with("+json-seq")
    {
        Content::Lines
    } else if essence == "text/event-stream" {
        Content::Events
    } else if sub == "json"
        || sub.ends_with("+json")
        || sub == "x-json"
        || essence == "*/*"
        || essence == "application/*"
    {
        Content::Json
    } else if main == "text"
        || sub == "xml"
        || sub.ends_with("+xml")
        || sub.ends_with("yaml")
        || matches!(
            sub,
            "javascript"
                | "ecmascript"
                | "x-javascript"
                | "graphql"
                | "sql"
                | "x-www-form-urlencoded"
                | "csv"
                | "toml"
                | "x-sh"
                | "pgp-signature"
                | "x-pem-file"
        )
    {
        Content::Text
    } else {
        Content::Binary
    }
}

/// How a request body of a media type is written.
pub(crate) fn body_kind(media_type: &str) -> BodyKind {
    let essence = essence(media_type);
    if essence.starts_with("multipart/") {
        return BodyKind::Multipart;
    }
    if essence == "application/x-www-form-urlencoded" {
        return BodyKind::Form;
    }
    match kind(&essence) {
        Content::Json => BodyKind::Json,
        Content::Lines => BodyKind::Lines,
        Content::Text | Content::Events => BodyKind::Text,
        Content::Binary => BodyKind::Binary,
    }
}

/// What to send as `content-type` for a declared media type, which may be a
/// range or not fit into a header.
pub(crate) fn sendable(media_type: &str, kind: BodyKind) -> String {
    let visible = visible(media_type).filter(|text| !text.contains('*'));
    visible.unwrap_or_else(|| {
        let usual = match kind {
            BodyKind::Json => "application/json",
            BodyKind::Form => "application/x-www-form-urlencoded",
            BodyKind::Multipart => "multipart/form-data",
            BodyKind::Lines => "application/x-ndjson",
            BodyKind::Text => "text/plain",
            BodyKind::Binary => "application/octet-stream",
        };
        usual.to_owned()
    })
}

/// A media type, where it can stand in a header.
pub(crate) fn visible(media_type: &str) -> Option<String> {
    let text = media_type.trim();
    let fits = !text.is_empty()
        && text.len() <= MAX_MEDIA_TYPE_CHARS
        && text.contains('/')
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic() && byte != b',');
    fits.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_told_apart() {
        assert_eq!(kind("application/vnd.github+json; charset=utf-8"), Content::Json);
        assert_eq!(kind("application/problem+json"), Content::Json);
        assert_eq!(kind("Application/JSON"), Content::Json);
        assert_eq!(kind("application/x-ndjson"), Content::Lines);
        assert_eq!(kind("text/html"), Content::Text);
        assert_eq!(kind("application/atom+xml"), Content::Text);
        assert_eq!(kind("application/pdf"), Content::Binary);
        assert_eq!(kind("application/octet-stream"), Content::Binary);
        assert_eq!(kind("text/event-stream;charset=utf-8"), Content::Events);
        assert_eq!(body_kind("multipart/form-data"), BodyKind::Multipart);
        assert_eq!(sendable("a/b\r\nx: y", BodyKind::Json), "application/json");
    }
}
