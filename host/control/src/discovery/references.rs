//! Where an answer says that an API's description is: in its headers, in the
//! tags of a page, in the settings of a page that shows descriptions, in a
//! catalogue of APIs.

use executor_runtime::Origin;
use serde_json::Value;
use url::Url;

use super::tags::{self, Tag};

/// References of one kind that are kept.
const REFERENCES: usize = 20;
const URL_BYTES: usize = 2_048;
/// Bytes of a catalogue. A larger document costs too much memory to be read
/// for this alone.
const CATALOGUE_BYTES: usize = 1 << 20;
/// Bytes of a list of descriptions in a script.
const LIST_BYTES: usize = 64 * 1024;

/// Where the settings of Swagger UI stand in its newer releases.
const INITIALIZER: &str = "swagger-initializer.js";
/// What Swagger UI shows where nobody changed its settings.
const EXAMPLE: &str = "petstore.swagger.io";

/// What an answer refers to.
#[derive(Debug, Default)]
pub(super) struct References {
    /// Descriptions of one API, in several forms perhaps.
    pub(super) descriptions: Vec<Url>,
    /// Descriptions of an API each.
    pub(super) apis: Vec<Url>,
    /// What refers further.
    pub(super) hops: Vec<Url>,
}

/// An answer that may refer to a description.
pub(super) struct Referring<'a> {
    /// Where it is.
    pub(super) at: &'a Url,
    pub(super) headers: &'a [(String, String)],
    pub(super) body: &'a [u8],
    /// Whether another answer referred to it as one that refers further.
    pub(super) is_hop: bool,
}

impl References {
    /// Adds what an answer refers to.
    pub(super) fn add(&mut self, answer: &Referring<'_>) {
        for (_, value) in answer.headers.iter().filter(|(name, _)| name == "link") {
            for (target, parameters) in links(value) {
                let relation =
                    parameters.iter().find(|(name, _)| name == "rel").map(|(_, value)| value.as_str());
                let kind =
                    parameters.iter().find(|(name, _)| name == "type").map(|(_, value)| value.as_str());
                self.related(answer.at, &target, relation.unwrap_or_default(), kind.unwrap_or_default());
            }
        }
        let text = tags::text(answer.body);
        if tags::is_page(&text) {
            self.page(answer.at, &text);
        } else if text.trim_start().starts_with('{') && answer.body.len() <= CATALOGUE_BYTES {
            if let Ok(root) = serde_json::from_slice::<Value>(answer.body) {
                self.json(answer, &root);
            }
        } else if answer.is_hop {
            self.settings(answer.at, &text);
        }
    }

    fn page(&mut self, at: &Url, text: &str) {
        let tags = tags::tags(text);
        let base = tags.iter().find(|tag| tag.name == "base").and_then(|tag| at.join(tag.get("href")?).ok());
        let base = base.unwrap_or_else(|| at.clone());
        for tag in &tags {
            self.tag(&base, tag);
        }
        let lower = text.to_ascii_lowercase();
        if lower.contains("swagger-ui") || lower.contains("swaggerui") {
            self.settings(&base, text);
        }
        let called = |name: &str| text.split_once(name).map(|(_, after)| after.trim_start());
        let redoc = called("Redoc.init(").and_then(literal);
        let scalar =
            called("Scalar.createApiReference(").and_then(|after| setting(&after[..cut(after)], "url"));
        redoc.into_iter().chain(scalar).for_each(|target| push(&mut self.descriptions, &base, &target));
    }

    fn tag(&mut self, base: &Url, tag: &Tag) {
        let described = match tag.name.as_str() {
            "link" | "a" => {
                let (target, relation) = (tag.get("href"), tag.get("rel").unwrap_or_default());
                let kind = tag.get("type").unwrap_or_default();
                return target.into_iter().for_each(|target| self.related(base, target, relation, kind));
            }
            "script" if tag.get("src").is_some_and(|source| source.contains(INITIALIZER)) => {
                return tag.get("src").into_iter().for_each(|source| push(&mut self.hops, base, source));
            }
            "script" if tag.get("id") == Some("api-reference") => tag.get("data-url"),
            "elements-api" => tag.get("apidescriptionurl"),
            "redoc" | "rapi-doc" | "rapi-doc-mini" | "openapi-explorer" | "api-reference" => {
                tag.get("spec-url")
            }
            _ => None,
        };
        described.into_iter().for_each(|target| push(&mut self.descriptions, base, target));
    }

    /// A link by its relation: `service-desc` and `api-catalog` (RFC 8631, RFC
    /// 9727), or an alternate whose type says that it is a description.
    fn related(&mut self, base: &Url, target: &str, relations: &str, kind: &str) {
        let has = |word: &str| relations.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case(word));
        let kind = kind.to_ascii_lowercase();
        let is_description = ["openapi", "swagger"].iter().any(|word| kind.contains(word));
        if has("service-desc") || (is_description && (has("alternate") || has("describedby"))) {
            push(&mut self.descriptions, base, target);
        } else if has("api-catalog") {
            push(&mut self.hops, base, target);
        }
    }

    /// A catalogue of APIs (RFC 9727), a set of links (RFC 9264), or settings of
    /// Swagger UI.
    fn json(&mut self, answer: &Referring<'_>, root: &Value) {
        let entries = root.get("linkset").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let targets = |entry: &Value| -> Vec<String> {
            let links = entry.get("service-desc").and_then(Value::as_array).cloned().unwrap_or_default();
            links.iter().filter_map(|link| link.get("href")?.as_str().map(str::to_owned)).collect()
        };
        let described: Vec<Vec<String>> =
            entries.iter().map(targets).filter(|list| !list.is_empty()).collect();
        match described.as_slice() {
            [only] => only.iter().for_each(|target| push(&mut self.descriptions, answer.at, target)),
            several => several.iter().for_each(|api| push(&mut self.apis, answer.at, &api[0])),
        }
        if !answer.is_hop || root.get("openapi").is_some() || root.get("swagger").is_some() {
            return;
        }
        let listed = root.get("urls").and_then(Value::as_array).into_iter().flatten();
        let listed: Vec<&str> = listed.filter_map(|one| one.get("url")?.as_str()).collect();
        match (listed.as_slice(), root.get("url").and_then(Value::as_str)) {
            ([], Some(url)) => push(&mut self.descriptions, answer.at, url),
            (several, _) => several.iter().for_each(|url| push(&mut self.apis, answer.at, url)),
        }
    }

    /// Settings of Swagger UI in a script.
    fn settings(&mut self, base: &Url, script: &str) {
        let configured = setting(script, "configUrl");
        configured.into_iter().for_each(|target| push(&mut self.hops, base, &target));
        if let Some((_, list)) =
            after_key(script, "urls").and_then(|after| Some(("", after.strip_prefix('[')?)))
        {
            let list = &list[..list.find(']').unwrap_or_else(|| cut(list))];
            let mut rest = list;
            while let Some(after) = after_key(rest, "url") {
                literal(after).into_iter().for_each(|target| push(&mut self.apis, base, &target));
                rest = after;
            }
            return;
        }
        let told = setting(script, "url").filter(|target| !target.contains(EXAMPLE));
        told.into_iter().for_each(|target| push(&mut self.descriptions, base, &target));
    }

    /// Takes those of other origins out.
    pub(super) fn take_foreign(&mut self, is_own: &dyn Fn(&Url) -> bool) -> Vec<Url> {
        let mut foreign = Vec::new();
        for list in [&mut self.descriptions, &mut self.apis, &mut self.hops] {
            list.retain(|url| {
                let own = is_own(url);
                if !own && !foreign.contains(url) {
                    foreign.push(url.clone());
                }
                own
            });
        }
        foreign
    }
}

/// Adds a target that can be asked, once.
fn push(list: &mut Vec<Url>, base: &Url, target: &str) {
    if target.is_empty() || target.len() > URL_BYTES || list.len() == REFERENCES {
        return;
    }
    let Ok(mut url) = base.join(target.trim()) else { return };
    url.set_fragment(None);
    if Origin::of(&url).is_ok() && !list.contains(&url) {
        list.push(url);
    }
}

/// The links of a `Link` header (RFC 8288, section 3) with their parameters.
fn links(value: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found = Vec::new();
    let mut rest = value;
    while let Some((target, after)) = rest.split_once('<').and_then(|(_, after)| after.split_once('>')) {
        let (mut parameters, mut text) = (Vec::new(), after);
        while let Some(parameter) = text.trim_start().strip_prefix(';') {
            let end = parameter.find(['=', ';', ',']).unwrap_or(parameter.len());
            let (name, after) = parameter.split_at(end);
            let Some(value) = after.strip_prefix('=') else {
                text = after;
                continue;
            };
            let (value, after) = match value.trim_start().strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => value.split_at(value.find([';', ',']).unwrap_or(value.len())),
            };
            parameters.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            text = after;
        }
        found.push((target.to_owned(), parameters));
        rest = text;
        if found.len() == REFERENCES {
            break;
        }
    }
    found
}

/// The text of a key in a script: `key: "text"`, quoted or not.
fn setting(script: &str, key: &str) -> Option<String> {
    let mut rest = script;
    while let Some(after) = after_key(rest, key) {
        if let Some(text) = literal(after) {
            return Some(text);
        }
        rest = after;
    }
    None
}

/// What follows `key:` in a script.
fn after_key<'s>(script: &'s str, key: &str) -> Option<&'s str> {
    let mut rest = script;
    loop {
        let start = rest.find(key)?;
        let before = rest[..start].chars().next_back();
        let part_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-' | '/');
        let after = &rest[start + key.len()..];
        if !before.is_some_and(part_of_word) {
            let value = after.trim_start_matches(['"', '\'']).trim_start();
            if let Some(value) = value.strip_prefix(':') {
                return Some(value.trim_start());
            }
        }
        rest = after;
    }
}

/// A string of a script at its beginning.
fn literal(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    let (inner, _) = text[1..].split_once(quote)?;
    let plain = inner.len() <= URL_BYTES && !inner.contains(['\n', '$']);
    plain.then(|| inner.replace("\\/", "/").replace("\\u002F", "/"))
}

fn cut(text: &str) -> usize {
    let mut end = text.len().min(LIST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&str, &str)], body: &str, is_hop: bool) -> References {
        let at = Url::parse("https://a.example/docs/index.html").unwrap();
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut found = References::default();
        found.add(&Referring { at: &at, headers: &headers, body: body.as_bytes(), is_hop });
        found
    }

    fn paths(urls: &[Url]) -> String {
        let all: Vec<String> =
            urls.iter().map(|url| url.as_str().trim_start_matches("https://a.example").to_owned()).collect();
        all.join(" ")
    }

    fn check(body: &str, is_hop: bool, descriptions: &str, apis: &str, hops: &str) {
        let found = read(&[], body, is_hop);
        let found = [&found.descriptions, &found.apis, &found.hops].map(|list| paths(list));
        assert_eq!(found, [descriptions, apis, hops], "{body}");
    }

    #[test]
    fn pages_name_descriptions_by_links() {
        check(r#"<html><link rel="service-desc" href="../openapi.json">"#, false, "/openapi.json", "", "");
        check(
            r#"<html><link href=/o.yaml rel="alternate" type="application/vnd.oai.openapi;version=3.1">
               <link rel=alternate type=application/rss+xml href=/rss>"#,
            false,
            "/o.yaml",
            "",
            "",
        );
        check(
            r#"<html><base href="/api/"><a rel="api-catalog" href="cat"></a><a href="x">"#,
            false,
            "",
            "",
            "/api/cat",
        );
        check(r#"<html><link rel="service-desc" href="javascript:alert(1)">"#, false, "", "", "");
        check(
            r#"<html><link rel="service-desc" href="https://b.example/o.json">"#,
            false,
            "https://b.example/o.json",
            "",
            "",
        );
    }

    #[test]
    fn headers_name_them_too() {
        let found = read(
            &[(
                "link",
                r#"</o.json>; rel="service-desc"; type="application/json", </cat>;rel=api-catalog, </x>; title="a, <b>; rel=service-desc""#,
            )],
            "hello",
            false,
        );
        assert_eq!((paths(&found.descriptions), paths(&found.hops)), ("/o.json".into(), "/cat".into()));
        assert!(read(&[("link", "<<<>;;;=,<")], "", false).descriptions.is_empty());
    }

    #[test]
    fn pages_that_show_descriptions_say_which() {
        let page = |script: &str| {
            format!("<!doctype html><html><div id=\"swagger-ui\"></div><script>{script}</script>")
        };
        check(
            &page("SwaggerUIBundle({ url: '/openapi.json', dom_id: '#x' })"),
            false,
            "/openapi.json",
            "",
            "",
        );
        check(
            &page(r#"SwaggerUIBundle({"urls":[{"url":"/a.json","name":"A"},{url: "b.json"}],"url":"/no"})"#),
            false,
            "",
            "/a.json /docs/b.json",
            "",
        );
        check(
            &page(r#"ui({ "configUrl" : "\/v3\/api-docs\/swagger-config" })"#),
            false,
            "",
            "",
            "/v3/api-docs/swagger-config",
        );
        check(&page("url: window.location, baseurl: '/x', a.url: '/y'"), false, "", "", "");
        check(&page("url: `${x}/y`"), false, "", "", "");
        check(
            "<html><script src='./swagger-initializer.js'></script>",
            false,
            "",
            "",
            "/docs/swagger-initializer.js",
        );
        check(
            "window.ui = SwaggerUIBundle({ url: \"https://petstore.swagger.io/v2/swagger.json\" })",
            true,
            "",
            "",
            "",
        );
        check("window.ui = SwaggerUIBundle({ url: \"/o.json\" })", true, "/o.json", "", "");
        check("window.ui = SwaggerUIBundle({ url: \"/o.json\" })", false, "", "", "");
        check("<html><redoc spec-url='o.yaml'></redoc>", false, "/docs/o.yaml", "", "");
        check("<html><script>Redoc.init('/r.json', {}, x)</script>", false, "/r.json", "", "");
        check("<html><script id=api-reference data-url=/s.json></script>", false, "/s.json", "", "");
        check(
            "<html><script>Scalar.createApiReference('#app', { url: '/t.json' })</script>",
            false,
            "/t.json",
            "",
            "",
        );
        check("<html><elements-api apiDescriptionUrl=/e.yaml>", false, "/e.yaml", "", "");
    }

    #[test]
    fn catalogues_list_apis() {
        let one = r#"{"linkset":[{"anchor":"https://a.example/x","service-desc":[{"href":"/x.json"},{"href":"/x.yaml"}]}]}"#;
        check(one, false, "/x.json /x.yaml", "", "");
        let two = r#"{"linkset":[{"service-desc":[{"href":"/x.json"},{"href":"/x.yaml"}]},{"service-desc":[{"href":"/y.json"}]},{"item":[]}]}"#;
        check(two, false, "", "/x.json /y.json", "");
        check(r#"{"url":"/v3/api-docs"}"#, true, "/v3/api-docs", "", "");
        check(r#"{"urls":[{"url":"/a"},{"url":"/b"}],"url":""}"#, true, "", "/a /b", "");
        check(r#"{"url":"/v3/api-docs"}"#, false, "", "", "");
        check(r#"{"openapi":"3.0.0","url":"/x"}"#, true, "", "", "");
        let huge =
            format!(r#"{{"linkset":[{{"service-desc":[{{"href":"/x"}}]}}],"x":"{}"}}"#, "x".repeat(1 << 20));
        assert!(read(&[], &huge, false).descriptions.is_empty());
    }

    #[test]
    fn what_is_of_other_origins_is_told_apart() {
        let mut found = read(
            &[],
            r#"<html><link rel="service-desc" href="/a.json"><link rel="service-desc" href="https://b.example/b.json">"#,
            false,
        );
        let foreign = found.take_foreign(&|url| url.host_str() == Some("a.example"));
        assert_eq!(
            (paths(&found.descriptions), paths(&foreign)),
            ("/a.json".into(), "https://b.example/b.json".into())
        );
    }
}
