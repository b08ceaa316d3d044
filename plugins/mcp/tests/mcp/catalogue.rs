//! What becomes of what a server lists.

use executor_mcp::seam::Failure;
use serde_json::{Value, json};

use crate::host::*;
use crate::support::*;

/// A server with these tools, in one page.
fn listing(tools: Value) -> Host {
    modern(move |posted| match posted.method() {
        "tools/list" => posted.result(json!({"tools": tools})),
        other => panic!("{other}"),
    })
}

#[test]
fn tools_become_tools_and_keep_what_nobody_knows() {
    let tools = json!([{
        "name": "get.weather", "title": "Weather", "description": "Says how it is.\u{1b}[31m",
        "inputSchema": {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true, "openWorldHint": true},
        "icons": [{"src": "https://api.example/i.png"}],
        "_meta": {"ui": {"resourceUri": "ui://weather"}}, "execution": {"taskSupport": "optional"},
    }, {
        "name": "drop", "inputSchema": {"type": "object"},
        "annotations": {"title": "Drop it", "destructiveHint": true, "idempotentHint": true},
    }, {
        "name": "plain", "inputSchema": {"type": "object"},
    }]);
    let host = listing(tools);
    let catalog = index(&host);
    assert_eq!(catalog.names(), ["get_weather", "drop", "plain"]);
    let weather = catalog.tool("get_weather");
    assert_eq!(weather.description, "Says how it is.[31m");
    assert_eq!(weather.annotations.title.as_deref(), Some("Weather"));
    assert!(weather.annotations.read_only && weather.annotations.idempotent);
    let meta: Value = serde_json::from_str(weather.annotations.meta.as_deref().unwrap()).unwrap();
    assert_eq!(meta["_meta"]["ui"]["resourceUri"], "ui://weather");
    assert_eq!(meta["execution"]["taskSupport"], "optional");
    assert_eq!(meta["annotations"]["openWorldHint"], true);
    assert!(meta["icons"].is_array());
    let drop = catalog.tool("drop");
    assert_eq!((drop.description.as_str(), drop.annotations.title.as_deref()), ("Drop it", Some("Drop it")));
    assert!(drop.annotations.destructive && drop.annotations.idempotent && !drop.annotations.read_only);
    let plain = catalog.tool("plain");
    assert_eq!(plain.description, "plain");
    assert!(!plain.annotations.read_only && !plain.annotations.idempotent);
    let summary = catalog.summary.as_ref().unwrap();
    assert_eq!((summary.title.as_deref(), summary.version.as_deref()), (Some("Calculator"), Some("1.2")));
    assert_eq!(
        catalog.meta(),
        json!({"origins": ["https://api.example"], "hints": true, "protocol": MODERN, "transport": "streamable-http"})
    );
    assert!(catalog.warnings.is_empty(), "{:?}", catalog.warnings);
    // The name on the wire is the server's.
    let host = modern(|posted| {
        assert_eq!(posted.body["params"]["name"], "get.weather");
        posted.result(text("fine"))
    });
    let call = executor_mcp::seam::Call {
        binding: weather.binding.clone(),
        arguments: "{}".to_owned(),
        ..Default::default()
    };
    assert_eq!(data(invoke(&host, &call)), "fine");
}

#[test]
fn a_fault_costs_its_part_and_no_other_tool() {
    let deep = format!("{}{}", r#"{"not":"#.repeat(110), "{}".to_owned() + &"}".repeat(110));
    let tools = json!([
        {"name": "no_schema"},
        {"name": "null_schema", "inputSchema": null, "outputSchema": 7},
        {"name": "string_schema", "inputSchema": {"type": "string"}},
        {"name": "deep", "inputSchema": serde_json::from_str::<Value>(&deep).unwrap()},
        {"name": 7, "inputSchema": {"type": "object"}},
        "what",
        null,
        {"inputSchema": {"type": "object"}},
        {"name": "twice", "inputSchema": {"type": "object"}},
        {"name": "twice", "inputSchema": {"type": "object"}},
        {"name": "__proto__", "inputSchema": {"type": "object"}},
        {"name": "good", "inputSchema": {"type": "object", "properties": {"__proto__": {"type": "string"}}}},
    ]);
    let catalog = index(&listing(tools));
    assert_eq!(
        catalog.names(),
        ["no_schema", "null_schema", "string_schema", "deep", "twice", "__proto___", "good"]
    );
    for name in ["no_schema", "null_schema", "string_schema", "deep"] {
        assert_eq!(catalog.tool(name).input_schema, r#"{"type":"object"}"#);
        let warned = catalog
            .warnings
            .iter()
            .any(|warning| warning.code == "schema-replaced" && warning.tool.as_deref() == Some(name));
        assert!(warned, "{name}");
    }
    assert!(catalog.tool("good").input_schema.contains("__proto__"));
    assert!(catalog.codes().contains(&"tool-refused"));
}

#[test]
fn a_schema_that_the_host_refuses_is_put_again_without_it() {
    let tools = json!([
        {"name": "a", "inputSchema": {"type": "object", "properties": {"odd": {}}}, "outputSchema": {"type": "object"}},
        {"name": "b", "inputSchema": {"type": "object"}},
    ]);
    let catalog = Catalog { refuses: Some("odd"), ..Catalog::default() };
    let catalog = index_into(catalog, &listing(tools), &config(URL), None).unwrap();
    assert_eq!(catalog.names(), ["b", "a"]);
    assert_eq!(catalog.tool("a").input_schema, r#"{"type":"object"}"#);
    assert_eq!(catalog.tool("a").output_schema, None);
    assert_eq!(catalog.codes(), ["schema-replaced"]);
}

#[test]
fn marked_arguments_stand_in_headers_and_bad_marks_cost_the_tool() {
    let tools = json!([
        {"name": "marked", "inputSchema": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}},
        {"name": "wrong", "inputSchema": {"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}}},
    ]);
    let catalog = index(&listing(tools.clone()));
    assert_eq!(catalog.names(), ["marked"]);
    assert_eq!(catalog.warnings[0].tool.as_deref(), Some("wrong"));
    let host = modern(|posted| {
        assert_eq!(posted.header("mcp-param-region"), Some("us-west1"));
        posted.result(text("ok"))
    });
    let call = executor_mcp::seam::Call {
        binding: catalog.tool("marked").binding.clone(),
        arguments: r#"{"region":"us-west1"}"#.to_owned(),
        ..Default::default()
    };
    data(invoke(&host, &call));
    // In older revisions, and for processes, a mark means nothing.
    let host = legacy(move |posted| posted.result(json!({"tools": tools})));
    assert_eq!(index(&host).names(), ["marked", "wrong"]);
}

#[test]
fn pages_are_followed_as_far_as_they_lead() {
    let paged = |next: fn(u64) -> Value| {
        modern(move |posted| {
            let page: u64 =
                posted.body["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
            let tools = json!([{"name": format!("t{page}"), "inputSchema": {"type": "object"}}]);
            posted.result(json!({"tools": tools, "nextCursor": next(page)}))
        })
    };
    let catalog = index(&paged(|page| if page < 9 { json!((page + 1).to_string()) } else { Value::Null }));
    assert_eq!(catalog.names().len(), 10);
    assert!(catalog.warnings.is_empty());
    let catalog = index(&paged(|page| if page < 2 { json!((page + 1).to_string()) } else { json!("") }));
    assert_eq!(catalog.names().len(), 3);
    let names = |host: &Host| {
        let request = executor_mcp::seam::IndexRequest {
            config: config(URL),
            settings: "{}".to_owned(),
            ..Default::default()
        };
        let mut catalog = Catalog::default();
        executor_mcp::source::index(&request, &mut catalog, host).unwrap();
        (catalog.tools.len(), catalog.warnings.last().map(|warning| warning.message.clone()))
    };
    let (count, warning) = names(&paged(|page| json!((page + 1).to_string())));
    assert_eq!(count, 200);
    assert!(warning.unwrap().contains("more than 200 pages"));
    let circle = modern(|posted| {
        let name = posted.body["params"]["cursor"].as_str().unwrap_or("first").to_owned();
        let next = if name == "first" {
            "b"
        } else if name == "b" {
            "c"
        } else {
            "b"
        };
        posted
            .result(json!({"tools": [{"name": name, "inputSchema": {"type": "object"}}], "nextCursor": next}))
    });
    let (count, warning) = names(&circle);
    assert_eq!(count, 3);
    assert!(warning.unwrap().contains("circle"));
    let broken = modern(|posted| match posted.body["params"]["cursor"].as_str() {
        None => posted
            .result(json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "nextCursor": "2"})),
        Some(_) => posted.error(200, -32_602, "invalid cursor"),
    });
    let (count, warning) = names(&broken);
    assert_eq!(count, 1);
    assert!(warning.unwrap().contains("invalid cursor"));
}

#[test]
fn prompts_and_resources_are_tools_of_their_own() {
    let host = Host::serving(|posted| match posted.method() {
        "server/discover" => posted.result(json!({
            "supportedVersions": [MODERN], "capabilities": {"prompts": {}, "resources": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "2"}},
        })),
        "prompts/list" => posted.result(json!({"prompts": [{
            "name": "code/review", "description": "Reviews", "arguments": [
                {"name": "diff", "required": true, "description": "What changed"}, {"name": "tone"}, {}
            ], "_meta": {"a": 1},
        }]})),
        other => panic!("{other}"),
    });
    let catalog = index(&host);
    assert_eq!(
        catalog.names(),
        ["prompts.code_review", "resources.list", "resources.templates", "resources.read"]
    );
    let prompt = catalog.tool("prompts.code_review");
    let schema: Value = serde_json::from_str(&prompt.input_schema).unwrap();
    assert_eq!(schema["required"], json!(["diff"]));
    assert_eq!(schema["properties"]["diff"], json!({"type": "string", "description": "What changed"}));
    assert!(prompt.annotations.read_only);
    assert_eq!(catalog.summary.unwrap().title.as_deref(), Some("x"));
}

#[test]
fn what_can_not_be_listed_beside_the_tools_costs_itself_alone() {
    let host = Host::serving(|posted| match posted.method() {
        "server/discover" => posted.result(json!({
            "supportedVersions": [MODERN], "capabilities": {"tools": {}, "prompts": {}},
        })),
        "tools/list" => posted.result(json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]})),
        "prompts/list" => posted.error(200, -32_603, "database is locked"),
        other => panic!("{other}"),
    });
    let catalog = index(&host);
    assert_eq!((catalog.names(), catalog.codes()), (vec!["a"], vec!["list-incomplete"]));
    // A server that knows no tools/list says so by -32601.
    let host = modern(|posted| posted.error(404, -32_601, "Method not found"));
    let catalog = index(&host);
    assert_eq!((catalog.names().len(), catalog.codes()), (0, vec!["no-operations"]));
}

#[test]
fn a_list_that_can_not_be_had_leaves_the_catalogue_as_it_was() {
    let check = |said: fn(&Posted) -> Said, code: &str| {
        let failure = try_index(&modern(said), &config(URL), None).err().unwrap();
        assert_eq!(failure.code, code, "{failure:?}");
    };
    check(|posted| posted.error(200, -32_603, "boom"), "upstream-failed");
    check(|posted| posted.result(json!({"tools": "none"})), "upstream-malformed");
    check(|posted| posted.result(json!([1])), "upstream-malformed");
    check(|_| Said::text(200, "text/html", "<html>"), "upstream-malformed");
    check(|_| Said::text(503, "text/plain", "later"), "upstream-failed");
    check(|_| Said::accepted(), "upstream-malformed");
}

#[test]
fn a_later_page_that_can_not_be_had_leaves_the_catalogue_as_it_was_too() {
    let second = |said: fn(&Posted) -> Said| {
        modern(move |posted| match posted.body["params"]["cursor"].as_str() {
            None => posted.result(
                json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "nextCursor": "2"}),
            ),
            Some(_) => said(posted),
        })
    };
    let check = |said: fn(&Posted) -> Said, code: &str| {
        let failure = try_index(&second(said), &config(URL), None).err().unwrap();
        assert_eq!(failure.code, code, "{failure:?}");
    };
    check(|_| Said::text(503, "text/plain", "later"), "upstream-failed");
    check(|_| Said::text(429, "text/plain", "later"), "upstream-rate-limited");
    check(|_| Said::Hangs, "upstream-timeout");
    check(|_| Said::events(vec![Piece::Broken]), "upstream-truncated");
    check(|_| Said::Failed(Failure::new("connect-failed", "nobody there")), "connect-failed");
    check(|posted| posted.error(200, -32_603, "boom"), "upstream-failed");
    check(|posted| posted.result(json!({"tools": "none"})), "upstream-malformed");
    // Who was let in for the first page and no more is to sign in again.
    let locked = || second(|_| Said::text(401, "text/plain", "").with("www-authenticate", "Bearer"));
    let failure = try_index(&locked(), &config(URL), Some(r#"{"connection":"work"}"#)).err().unwrap();
    assert_eq!((failure.code.as_str(), failure.status), ("upstream-rejected", Some(401)));
    assert_eq!(try_index(&locked(), &config(URL), None).unwrap().codes(), ["sign-in-needed"]);
}

#[test]
fn ten_thousand_tools_are_listed() {
    let tools: Vec<Value> = (0..10_000)
        .map(|n| json!({"name": format!("tool/{n}"), "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}))
        .collect();
    let catalog = index(&listing(Value::Array(tools)));
    assert_eq!(catalog.tools.len(), 10_000);
    assert!(catalog.warnings.is_empty());
}

#[test]
fn a_config_that_can_not_be_used_is_named() {
    let host = Host::serving(|posted| panic!("{posted:?}"));
    for config in ["", "{}", r#"{"transport":"tcp"}"#, r#"{"url":"file:///etc/passwd"}"#] {
        assert_eq!(try_index(&host, config, None).err().unwrap().code, "invalid-config", "{config}");
    }
}
