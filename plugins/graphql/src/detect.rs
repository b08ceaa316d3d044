//! Says whether a document is for this adapter, or a URL an endpoint.

use serde_json::{Value, json};

use crate::document::{self, Content, Form};
use crate::introspect::{Ping, ping};
use crate::schema::{Draft, Schema};
use crate::seam::{Detection, Http, Probe};
use crate::text::line;
use crate::{address, suggest};

const CONFIDENCE: u8 = 95;
/// A schema, but with nothing in it to call.
const CONFIDENCE_WITHOUT_OPERATIONS: u8 = 60;
/// It speaks GraphQL, and did not answer.
const CONFIDENCE_OF_A_SERVER: u8 = 75;
/// It is called GraphQL, and refuses those that it does not know.
const CONFIDENCE_OF_A_REFUSAL: u8 = 50;
/// A page with a query tool in it.
const CONFIDENCE_OF_A_TOOL: u8 = 60;
/// Enough to be asked what is wrong, when nobody else claims it.
const CONFIDENCE_OF_A_GUESS: u8 = 5;

/// What the probe holds. None for what another adapter reads, and for what
/// nothing is known of. At a URL that holds no schema, `{__typename}` is asked
/// where the host lets that out.
pub fn detect<H: Http>(probe: &Probe, http: &mut H) -> Option<Detection> {
    let url = probe.document.url.as_deref().or(probe.url.as_deref());
    match document::read(&probe.document.body) {
        Content::Schema(draft, form) => Some(of_schema(draft, form, url)),
        Content::Broken(why) => {
            Some(guess(format!("this looks like a GraphQL schema that can't be read: {why}"), url))
        }
        Content::Operation => Some(guess(
            "this is a GraphQL operation, not a schema: give the endpoint's URL, or its schema".to_owned(),
            url,
        )),
        content => of_url(&content, probe.status, url, http),
    }
}

fn of_schema(draft: Draft, form: Form, url: Option<&str>) -> Detection {
    let schema = draft.link();
    let count = |root: &Option<String>| {
        root.as_ref().and_then(|name| schema.get(name)).map_or(0, |ty| ty.fields.len())
    };
    let (queries, mutations) = (count(&schema.query), count(&schema.mutation));
    let warnings = vec![
        "a schema does not say where its API is: set base_url to the URL of the GraphQL endpoint".to_owned(),
    ];
    let confidence = if queries + mutations == 0 { CONFIDENCE_WITHOUT_OPERATIONS } else { CONFIDENCE };
    let meta = json!({
        "title": title(&schema, url),
        "form": form.name(),
        "transport": "http",
        "operations": queries + mutations,
        "queries": queries,
        "mutations": mutations,
    });
    Detection {
        confidence,
        config: json!({"form": form.name()}).to_string(),
        suggested_name: suggest::name(url),
        warnings,
        meta: Some(meta.to_string()),
    }
}

fn title(schema: &Schema, url: Option<&str>) -> String {
    let described = line(schema.description.lines().next().unwrap_or_default(), 100);
    let host = url.and_then(address::host);
    match host {
        _ if !described.is_empty() => described,
        Some(host) => format!("GraphQL API of {host}"),
        None => "GraphQL API".to_owned(),
    }
}

fn of_url<H: Http>(
    content: &Content,
    status: Option<u16>,
    url: Option<&str>,
    http: &mut H,
) -> Option<Detection> {
    let endpoint = address::endpoint(url?).ok()?;
    let asked = worth_asking(content, &endpoint, status).then(|| ping(&endpoint, http));
    match asked {
        Some(Ping::Answered) => Some(of_endpoint(CONFIDENCE, &endpoint, None)),
        Some(Ping::Refused { message, wants_credential: true }) => {
            Some(of_endpoint(CONFIDENCE_OF_A_SERVER, &endpoint, Some(&locked(&line(&message, 200)))))
        }
        Some(Ping::Refused { message, .. }) => {
            let told = format!("the endpoint refused the smallest query: {}", line(&message, 200));
            Some(Detection { warnings: vec![told], ..of_endpoint(CONFIDENCE_OF_A_SERVER, &endpoint, None) })
        }
        Some(Ping::Other { status: status @ (401 | 403), is_page: false, .. })
            if address::says_graphql(&endpoint) =>
        {
            let told = locked(&format!("it answered {status}"));
            Some(of_endpoint(CONFIDENCE_OF_A_REFUSAL, &endpoint, Some(&told)))
        }
        // What was asked counts for more than looks.
        Some(Ping::Other { status, looks, .. }) => {
            let told =
                format!("{endpoint} answered a GraphQL query with {status} and {looks}{}", advice(status));
            (address::says_graphql(&endpoint) || matches!(content, Content::Tool)).then(|| guess(told, url))
        }
        Some(Ping::NotSent(_)) | None => by_looks(content, &endpoint, url),
    }
}

/// A URL that answers as GraphQL servers and proxies in front of them do, or
/// says what it is, may be asked. A readable document of another kind is left
/// to others.
fn worth_asking(content: &Content, endpoint: &str, status: Option<u16>) -> bool {
    let failed = status.is_some_and(|status| !(200..300).contains(&status));
    matches!(content, Content::Server | Content::Tool | Content::Page)
        || failed
        || address::says_graphql(endpoint)
}

/// Where nothing could be sent, the looks decide.
fn by_looks(content: &Content, endpoint: &str, url: Option<&str>) -> Option<Detection> {
    match content {
        Content::Server => Some(of_endpoint(CONFIDENCE_OF_A_SERVER, endpoint, None)),
        Content::Tool => Some(of_endpoint(CONFIDENCE_OF_A_TOOL, endpoint, None)),
        Content::Page if address::says_graphql(endpoint) => {
            Some(guess("this is an HTML page (a login or a manual?), not a GraphQL endpoint".to_owned(), url))
        }
        _ => None,
    }
}

fn advice(status: u16) -> &'static str {
    match status {
        401 | 403 => ": it lets nobody through to an endpoint",
        404 | 410 => ": look for the endpoint's URL in the API's manual (often …/graphql)",
        405 => ": it takes no POST",
        _ => "",
    }
}

fn locked(why: &str) -> String {
    format!("the endpoint wants a credential ({why}): it shows its tools once it has a connection")
}

/// An endpoint, and what it says where it wants a credential.
fn of_endpoint(confidence: u8, endpoint: &str, locked: Option<&str>) -> Detection {
    let title = address::title(endpoint);
    let auth: Vec<Value> =
        locked.iter().map(|_| json!({"kind": "http-bearer", "label": "Bearer token"})).collect();
    Detection {
        confidence,
        config: json!({"endpoint": endpoint}).to_string(),
        suggested_name: suggest::name(Some(endpoint)),
        warnings: locked.iter().map(|told| (*told).to_owned()).collect(),
        meta: Some(
            json!({"title": title, "form": "endpoint", "transport": "http", "auth": auth}).to_string(),
        ),
    }
}

fn guess(warning: String, url: Option<&str>) -> Detection {
    Detection {
        confidence: CONFIDENCE_OF_A_GUESS,
        config: "{}".to_owned(),
        suggested_name: suggest::name(url),
        warnings: vec![line(&warning, 600)],
        meta: None,
    }
}
