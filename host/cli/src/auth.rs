//! Auth methods as people are shown them: what each asks for, where its values
//! go, and what it offers of OAuth.

use serde_json::Value;

use crate::style::Style;
use crate::table::{self, Table};
use crate::text;
use crate::view::{field, flag, joined, list, scalar};

/// Scopes of a flow that are shown; an API can have hundreds.
const SHOWN_SCOPES: usize = 30;

/// A table of the methods, and below it the flows of those by OAuth.
pub(crate) fn render(methods: &[Value], style: Style) -> String {
    let mut table = Table::new(&["AUTH METHOD", "KIND", "ASKS FOR", "GOES INTO", "LABEL"]);
    for method in methods {
        let (id, kind) = (field(method, "id"), field(method, "kind"));
        table.row([&id, &kind, &asks_for(method), &places(method), &field(method, "label")]);
    }
    let mut rendered = table.render(style);
    for method in methods.iter().filter(|method| flag(method, "oauth")) {
        let described = oauth(method, style);
        if !described.is_empty() {
            rendered.push_str(&format!("\n{described}"));
        }
    }
    rendered
}

/// The names of a method's values; those in brackets may be left out.
fn asks_for(method: &Value) -> String {
    let shown = |variable: &Value| match flag(variable, "optional") {
        true => format!("[{}]", field(variable, "name")),
        false => field(variable, "name"),
    };
    list(method, "variables").iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Where a method's values go: `header Authorization`.
pub(crate) fn places(method: &Value) -> String {
    let place = |place: &Value| format!("{} {}", field(place, "in"), field(place, "name"));
    let places: Vec<String> = list(method, "places").iter().map(place).collect();
    match field(method, "kind").as_str() {
        "environment" => "the program's environment".to_owned(),
        "aws-sigv4" => "a signature of the request".to_owned(),
        _ => places.join(", "),
    }
}

/// What a method offers of OAuth: each flow with its endpoints and scopes.
fn oauth(method: &Value, style: Style) -> String {
    let id = field(method, "id");
    let mut rendered = String::new();
    for flow in list(method, "flows") {
        let refused = if flag(flow, "supported") { "" } else { " (not supported)" };
        let mut facts = vec![(format!("{id} by --flow"), format!("{}{refused}", field(flow, "flow")))];
        let endpoints = flow["endpoints"].as_object().into_iter().flatten();
        facts.extend(endpoints.map(|(name, url)| (format!("  {name}"), scalar(url))));
        facts.push(("  scopes".to_owned(), scopes(list(flow, "scopes"))));
        let facts: Vec<(&str, String)> =
            facts.iter().map(|(label, value)| (label.as_str(), value.clone())).collect();
        rendered.push_str(&table::facts(&facts, style));
    }
    let place = field(method, "discovered_from");
    if rendered.is_empty() && !place.is_empty() {
        rendered =
            format!("{id}: its endpoints, flows and scopes are found out from {place} when you sign in\n");
    }
    rendered
}

fn scopes(all: &[Value]) -> String {
    let shown: Vec<String> = all.iter().take(SHOWN_SCOPES).map(scalar).collect();
    match all.len().saturating_sub(SHOWN_SCOPES) {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), text::count(more as u64)),
    }
}

/// One connection: what it is pinned to, and what it was authorized for.
pub(crate) fn render_connection(connection: &Value, style: Style) -> String {
    let grant = &connection["oauth"];
    let name = format!("{}/{}", field(connection, "source"), field(connection, "name"));
    let mut facts = vec![
        ("connection".to_owned(), style.bold(&name)),
        ("state".to_owned(), field(connection, "state")),
        ("values".to_owned(), joined(connection, "variables")),
        ("origins".to_owned(), joined(connection, "origins")),
        ("flow".to_owned(), field(grant, "flow")),
        ("client".to_owned(), field(grant, "client_id")),
        ("scopes".to_owned(), scopes(list(grant, "scopes"))),
    ];
    let endpoints = grant["endpoints"].as_object().into_iter().flatten();
    facts.extend(endpoints.map(|(name, url)| (endpoint(name), scalar(url))));
    facts.push(("added".to_owned(), crate::view::time(connection, "created_at")));
    let facts: Vec<(&str, String)> =
        facts.iter().map(|(label, value)| (label.as_str(), value.clone())).collect();
    let mut table = Table::new(&["AUTH METHOD", "KIND", "GOES INTO"]);
    for method in list(connection, "auth") {
        table.row([&field(method, "id"), &field(method, "kind"), &places(method)]);
    }
    format!("{}\n{}", table::facts(&facts, style), table.render(style))
}

fn endpoint(name: &str) -> String {
    match name {
        "issuer" => "issuer".to_owned(),
        name => format!("{} endpoint", text::line(name, 40)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn oauth() -> Value {
        json!({ "id": "oauth", "kind": "oauth2", "label": "Sign in", "oauth": true,
            "variables": [{ "name": "token" }], "places": [{ "in": "header", "name": "Authorization" }],
            "flows": [
                { "flow": "authorization-code", "supported": true, "scopes": ["read", "write\u{1b}[2J"],
                    "endpoints": { "authorization": "https://a/auth", "token": "https://a/token" } },
                { "flow": "implicit", "supported": false, "scopes": [], "endpoints": {} }] })
    }

    #[test]
    fn flows_are_shown_with_their_endpoints_and_scopes() {
        let basic = json!({ "id": "basic", "kind": "http-basic", "label": "Password",
            "variables": [{ "name": "username" }, { "name": "password", "optional": true }],
            "places": [{ "in": "header", "name": "Authorization" }] });
        insta::assert_snapshot!(render(&[oauth(), basic], Style::default()), @r"
        AUTH METHOD  KIND        ASKS FOR              GOES INTO             LABEL
        oauth        oauth2      token                 header Authorization  Sign in
        basic        http-basic  username, [password]  header Authorization  Password

        oauth by --flow  authorization-code
          authorization  https://a/auth
          token          https://a/token
          scopes         read, write
        oauth by --flow  implicit (not supported)
        ");
    }

    #[test]
    fn what_is_found_out_later_says_from_where() {
        let method =
            json!({ "id": "oauth2", "kind": "oauth2", "oauth": true, "discovered_from": "https://a/mcp" });
        let shown = render(&[method], Style::default());
        assert!(shown.contains("found out from https://a/mcp when you sign in"), "{shown}");
    }

    #[test]
    fn a_connection_is_shown_with_what_it_is_pinned_to() {
        let connection = json!({
            "source": "api", "name": "work", "state": "ok", "methods": ["oauth"], "variables": [],
            "origins": ["https://api.a"], "created_at": "2030-01-02T03:04:05Z", "auth": [oauth()],
            "oauth": { "flow": "authorization-code", "client_id": "c", "scopes": ["read"],
                "endpoints": { "issuer": "https://a", "token": "https://a/token" } } });
        insta::assert_snapshot!(render_connection(&connection, Style::default()), @r"
        connection      api/work
        state           ok
        origins         https://api.a
        flow            authorization-code
        client          c
        scopes          read
        issuer          https://a
        token endpoint  https://a/token
        added           2030-01-02 03:04:05

        AUTH METHOD  KIND    GOES INTO
        oauth        oauth2  header Authorization
        ");
    }

    #[test]
    fn hundreds_of_scopes_are_counted() {
        let many: Vec<Value> = (0..100).map(|number| json!(format!("s{number}"))).collect();
        assert!(scopes(&many).ends_with("s29 and 70 more"), "{}", scopes(&many));
    }
}
