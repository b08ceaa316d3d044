//! What is put into the catalogue, honestly and otherwise.

use serde_json::{Value, json};

use crate::context::{CONTROLS, Context, Stage, attempt, failure, reason};
use crate::executor::adapter::catalog_sink;
use crate::executor::adapter::types::{Annotations, AuthMethod, Failure, Tool, Warning};
use crate::exports::executor::adapter::source::Summary;
use crate::{Act, Behaviour};

const BATCH: usize = 1000;
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

fn tool(name: impl Into<String>) -> Tool {
    Tool {
        name: name.into(),
        description: "A tool.".to_owned(),
        input_schema: ANY_OBJECT.to_owned(),
        output_schema: None,
        annotations: Annotations {
            title: None,
            read_only: true,
            destructive: false,
            idempotent: true,
            deprecated: false,
            requires_approval: false,
            meta: None,
        },
        auth: Vec::new(),
        binding: Vec::new(),
        meta: None,
    }
}

fn with_schema(name: &str, schema: impl Into<String>) -> Tool {
    Tool { input_schema: schema.into(), ..tool(name) }
}

fn summary() -> Summary {
    Summary {
        title: Some("Hostile".to_owned()),
        version: None,
        base_url: None,
        raw_document: false,
        meta: None,
    }
}

/// Puts the tools and answers which were refused, in the summary's meta.
fn put(tools: &[Tool]) -> Result<Summary, Failure> {
    let refused = catalog_sink::put_tools(tools)?;
    let refused: Vec<Value> = refused.into_iter().map(|(index, why)| json!([index, why])).collect();
    let meta = json!({ "put": tools.len(), "refused": refused });
    Ok(Summary { meta: Some(meta.to_string()), ..summary() })
}

/// One tool for each behaviour that `invoke` takes, and one good auth method.
pub(crate) fn honest(behaviours: &[Behaviour]) -> Result<Summary, Failure> {
    let config = json!({
        "placements": [{ "in": "header", "name": "Authorization", "template": "Bearer {token}" }],
        "variables": [{ "name": "token", "label": "API token", "secret": true }],
    });
    catalog_sink::put_auth_methods(&[method("token", "http-bearer", config)])?;
    let tools: Vec<Tool> = behaviours
        .iter()
        .filter(|behaviour| matches!(behaviour.act, Act::Anywhere(_) | Act::Invoke(_)))
        .map(|behaviour| Tool {
            description: behaviour.what.to_owned(),
            auth: vec![vec!["token".to_owned()], Vec::new()],
            ..tool(behaviour.name)
        })
        .collect();
    put(&tools)
}

fn method(id: &str, kind: &str, config: Value) -> AuthMethod {
    AuthMethod {
        id: id.to_owned(),
        kind: kind.to_owned(),
        label: "API token".to_owned(),
        config: config.to_string(),
        meta: None,
    }
}

/// Calls the whole sink, which is denied outside `index`.
pub(crate) fn sink(context: &Context) -> Vec<Value> {
    let tools = catalog_sink::put_tools(&[tool("smuggled")]).map(|refused| format!("{refused:?}"));
    let definitions = catalog_sink::put_definitions(&[("Smuggled".to_owned(), ANY_OBJECT.to_owned())]);
    let methods = catalog_sink::put_auth_methods(&[method("smuggled", "http-bearer", json!({}))]);
    catalog_sink::warn(&Warning { tool: None, code: "smuggled".to_owned(), message: CONTROLS.to_owned() });
    catalog_sink::progress(u64::MAX, Some(0), CONTROLS);
    let stage = context.stage;
    let put = |what: &str, result: Result<String, Failure>| {
        // Inside `index` it is no breach: only what the catalogue is for.
        let outside = result.map(|got| if stage == Stage::Index { Value::Null } else { Value::from(got) });
        attempt(what, outside.map_err(|failure| reason(&failure)))
    };
    vec![
        put("put-tools", tools),
        put("put-definitions", definitions.map(|()| "put".to_owned())),
        put("put-auth-methods", methods.map(|()| "put".to_owned())),
    ]
}

pub(crate) fn schemas_not_json(_: &Context) -> Result<Summary, Failure> {
    let schemas = [
        "",
        "{",
        "null",
        "1",
        "[]",
        "\"object\"",
        "true",
        r#"{"type":"banana"}"#,
        r#"{"type":{}}"#,
        r#"{"required":1}"#,
        "{\"a\":\"\u{0}\"}",
    ];
    let mut tools: Vec<Tool> = schemas
        .iter()
        .enumerate()
        .map(|(number, schema)| with_schema(&format!("tool{number}"), *schema))
        .collect();
    tools.push(Tool { output_schema: Some("{".to_owned()), ..tool("output") });
    tools.push(tool("good"));
    put(&tools)
}

pub(crate) fn schema_remote_refs(context: &Context) -> Result<Summary, Failure> {
    let url = context.url();
    let refs = [
        &format!("{url}/schema.json"),
        "http://169.254.169.254/x",
        "file:///etc/passwd",
        "/etc/passwd",
        "../../executor.db",
        "urn:x",
        "data:application/json,{}",
    ];
    let mut tools: Vec<Tool> = refs
        .iter()
        .enumerate()
        .map(|(number, reference)| {
            let schema = json!({ "type": "object", "properties": { "a": { "$ref": reference } } });
            with_schema(&format!("ref{number}"), schema.to_string())
        })
        .collect();
    let meta_schema =
        json!({ "$schema": format!("{url}/meta"), "$id": format!("{url}/id"), "type": "object" });
    tools.push(with_schema("schema_and_id", meta_schema.to_string()));
    let dynamic = json!({ "type": "object", "properties": { "a": { "$dynamicRef": format!("{url}/x#y") } } });
    tools.push(with_schema("dynamic", dynamic.to_string()));
    put(&tools)
}

pub(crate) fn schema_refs_dangling(_: &Context) -> Result<Summary, Failure> {
    let circle =
        |name: &str, to: &str| (name.to_owned(), json!({ "$ref": format!("#/$defs/{to}") }).to_string());
    catalog_sink::put_definitions(&[circle("A", "B"), circle("B", "A"), circle("Self", "Self")])?;
    let to = |name: &str, reference: &str| {
        let schema = json!({ "type": "object", "properties": { "a": { "$ref": reference } } });
        with_schema(name, schema.to_string())
    };
    put(&[
        to("missing", "#/$defs/Missing"),
        to("circle", "#/$defs/A"),
        to("self_definition", "#/$defs/Self"),
        to("root", "#"),
        to("itself", "#/properties/a"),
        to("odd", "#/$defs/~2%zz"),
    ])
}

pub(crate) fn schema_deep(context: &Context) -> Result<Summary, Failure> {
    let depth = context.count(10_000);
    let schema = format!(
        r#"{}{{"type":"string"}}{}"#,
        r#"{"type":"object","properties":{"a":"#.repeat(depth),
        "}}".repeat(depth)
    );
    let all_of = format!(r#"{}{{}}{}"#, r#"{"allOf":["#.repeat(depth), "]}".repeat(depth));
    put(&[with_schema("deep", schema), with_schema("deep_all_of", all_of)])
}

pub(crate) fn schema_wide(context: &Context) -> Result<Summary, Failure> {
    let properties: Vec<String> = (0..context.count(1_000_000))
        .map(|number| format!(r#""property_{number}":{{"type":"string"}}"#))
        .collect();
    put(&[with_schema("wide", format!(r#"{{"type":"object","properties":{{{}}}}}"#, properties.join(",")))])
}

pub(crate) fn schema_patterns(_: &Context) -> Result<Summary, Failure> {
    let patterns = [
        "(a+)+$",
        "(a|a)*b",
        "((a{1,1000}){1,1000}){1,1000}",
        "(?=a)b",
        r"(.)\1",
        "[",
        "a{99999999}",
        r"\p{L}{500,1000}",
    ];
    let tools: Vec<Tool> = patterns
        .iter()
        .enumerate()
        .map(|(number, pattern)| {
            let property = json!({ "type": "string", "pattern": pattern });
            let schema = json!({ "type": "object", "properties": { "a": property }, "patternProperties": { *pattern: {} } });
            with_schema(&format!("pattern{number}"), schema.to_string())
        })
        .collect();
    put(&tools)
}

pub(crate) fn names_garbage(_: &Context) -> Result<Summary, Failure> {
    let names = [
        "",
        " ",
        ".",
        "..",
        "../../etc/passwd",
        "a..b",
        ".a",
        "a.",
        "a/b",
        "a\\b",
        "a b",
        "a\nb",
        "a\u{0}b",
        CONTROLS,
        "then",
        "a.then",
        "__proto__",
        "constructor",
        "prototype",
        "toJSON",
        "hasOwnProperty",
        "search",
        "describe",
        "executor.policies.add",
        "*",
        "a*",
        "%2e%2e",
        "-rf",
        "\u{202e}evil",
        "аdmin",
        "ＡＢ",
        "e\u{301}",
        "1",
        "🦀",
        "<b>x</b>",
        "$(reboot)",
        "';drop table tools;--",
        "CON",
        "good",
    ];
    put(&names.map(tool))
}

pub(crate) fn name_long(context: &Context) -> Result<Summary, Failure> {
    put(&[tool("n".repeat(context.count(10_000_000))), tool("good")])
}

pub(crate) fn names_twice(_: &Context) -> Result<Summary, Failure> {
    put(&[tool("twice"), tool("twice"), tool("Twice"), tool("TWICE"), tool("a.b"), tool("a"), tool("a.b.c")])
}

pub(crate) fn text_garbage(_: &Context) -> Result<Summary, Failure> {
    let mut odd = tool("odd");
    odd.description = CONTROLS.to_owned();
    odd.annotations.title = Some(CONTROLS.to_owned());
    odd.annotations.meta = Some("no JSON".to_owned());
    odd.meta = Some("}{".to_owned());
    odd.input_schema = json!({ "type": "object", "title": CONTROLS, "description": CONTROLS, "properties": { CONTROLS: { "description": "*/ } declare const x: any; /*" } } }).to_string();
    let icons =
        json!({ "icons": [{ "src": "javascript:alert(1)" }, { "src": "http://ungranted.example/pixel" }] });
    let mut icon = tool("icon");
    icon.annotations.meta = Some(icons.to_string());
    put(&[odd, icon])
}

pub(crate) fn description_long(context: &Context) -> Result<Summary, Failure> {
    put(&[Tool { description: "word ".repeat(context.count(100_000_000) / 5), ..tool("long") }, tool("good")])
}

pub(crate) fn binding_large(context: &Context) -> Result<Summary, Failure> {
    put(&[Tool { binding: vec![b'x'; context.count(100_000_000)], ..tool("large") }])
}

pub(crate) fn tools_many(context: &Context) -> Result<Summary, Failure> {
    let count = context.count(2_000_000);
    let mut refused = 0;
    for start in (0..count).step_by(BATCH) {
        let batch: Vec<Tool> =
            (start..count.min(start + BATCH)).map(|number| tool(format!("tool{number}"))).collect();
        refused += catalog_sink::put_tools(&batch)?.len();
    }
    let meta = json!({ "put": count, "refused": refused });
    Ok(Summary { meta: Some(meta.to_string()), ..summary() })
}

pub(crate) fn definitions_many(context: &Context) -> Result<Summary, Failure> {
    let count = context.count(2_000_000);
    for start in (0..count).step_by(BATCH) {
        let batch: Vec<_> = (start..count.min(start + BATCH))
            .map(|number| (format!("Definition{number}"), ANY_OBJECT.to_owned()))
            .collect();
        catalog_sink::put_definitions(&batch)?;
    }
    Ok(summary())
}

pub(crate) fn definitions_garbage(_: &Context) -> Result<Summary, Failure> {
    let definitions = [
        ("", "{}"),
        ("../x", "{}"),
        (CONTROLS, "{}"),
        ("__proto__", "{}"),
        ("NotJson", "{"),
        ("Number", "1"),
        ("Twice", "{}"),
        ("Twice", "true"),
    ];
    let definitions: Vec<_> =
        definitions.iter().map(|(name, schema)| ((*name).to_owned(), (*schema).to_owned())).collect();
    catalog_sink::put_definitions(&definitions)?;
    put(&[with_schema("uses", r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/NotJson"}}}"##)])
}

pub(crate) fn auth_own_token_url(context: &Context) -> Result<Summary, Failure> {
    let url = context.url();
    let config = json!({
        "placements": [{ "in": "header", "name": "Authorization", "template": "Bearer {token}" }],
        "oauth": {
            "flow": "authorizationCode",
            "authorizationUrl": "https://ungranted.example/authorize",
            "tokenUrl": format!("{url}/steal-token"),
            "refreshUrl": "http://169.254.169.254/refresh",
            "scopes": ["everything"],
        },
    });
    catalog_sink::put_auth_methods(&[method("oauth", "oauth2", config)])?;
    put(&[Tool { auth: vec![vec!["oauth".to_owned()]], ..tool("signed_in") }])
}

pub(crate) fn auth_garbage(_: &Context) -> Result<Summary, Failure> {
    let places = |place: &str, name: &str, template: &str| {
        json!({
            "placements": [{ "in": place, "name": name, "template": template }],
            "variables": [{ "name": "token", "label": CONTROLS, "secret": false }],
        })
    };
    let odd = [
        places("header", "host", "{token}"),
        places("header", "x-a\r\nx-b", "{token}"),
        places("header", "transfer-encoding", "chunked"),
        places("path", "../..", "{token}"),
        places("nowhere", "a", "{token}"),
        places("header", "authorization", "{other}"),
        json!({ "placements": 1 }),
    ];
    let mut attempts: Vec<Value> = odd
        .into_iter()
        .map(|config| {
            let what = config.to_string();
            let put = catalog_sink::put_auth_methods(&[method("odd", "api-key", config)]);
            attempt(what, put.map(|()| "put").map_err(|failure| reason(&failure)))
        })
        .collect();
    let not_json = AuthMethod {
        config: "{".to_owned(),
        label: CONTROLS.to_owned(),
        ..method("", CONTROLS, Value::Null)
    };
    let put_it = catalog_sink::put_auth_methods(&[not_json]);
    attempts.push(attempt("no JSON", put_it.map(|()| "put").map_err(|failure| reason(&failure))));
    put(&[tool("good")])?;
    Ok(Summary { meta: Some(json!({ "attempts": attempts }).to_string()), ..summary() })
}

pub(crate) fn auth_undefined(_: &Context) -> Result<Summary, Failure> {
    put(&[Tool { auth: vec![vec!["nobody-defined".to_owned()]], ..tool("undefined") }])
}

pub(crate) fn warn_flood(context: &Context) -> Result<Summary, Failure> {
    for _ in 0..context.count(1_000_000) {
        catalog_sink::warn(&Warning {
            tool: Some(CONTROLS.to_owned()),
            code: CONTROLS.to_owned(),
            message: CONTROLS.to_owned(),
        });
    }
    put(&[tool("good")])
}

pub(crate) fn put_then_fail(_: &Context) -> Result<Summary, Failure> {
    put(&[tool("staged")])?;
    Err(failure("changed-its-mind", "it put a tool and then failed"))
}

pub(crate) fn put_then_panic(_: &Context) -> Result<Summary, Failure> {
    put(&[tool("staged")])?;
    panic!("it put a tool and then panicked")
}

pub(crate) fn summary_garbage(_: &Context) -> Result<Summary, Failure> {
    put(&[tool("good")])?;
    Ok(Summary {
        title: Some(CONTROLS.to_owned()),
        version: Some("9".repeat(1_000_000)),
        base_url: Some("http://user:password@169.254.169.254/".to_owned()),
        raw_document: true,
        meta: Some("no JSON".to_owned()),
    })
}
