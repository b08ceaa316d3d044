//! Schemas that are published, where `EXECUTOR_FIXTURES` names a directory
//! with what tests/fixtures/manifest.txt lists in it. Every default operation
//! and every generated variable is valid by Apollo's compiler.

use std::path::{Path, PathBuf};
use std::time::Instant;

use apollo_compiler::request::coerce_variable_values;
use apollo_compiler::response::JsonMap;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use executor_common::seam::Call;
use executor_graphql::source;
use serde_json::{Map, Value, json};

use crate::support::{Api, Catalog, ENDPOINT, bytes_of, compiled, try_index, validate};

fn fixture(name: &str) -> Option<Vec<u8>> {
    let Some(root) = std::env::var_os("EXECUTOR_FIXTURES") else {
        println!("skipped: EXECUTOR_FIXTURES is not set");
        return None;
    };
    let path: PathBuf = Path::new(&root).join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(std::fs::read(path).unwrap())
}

fn indexed(name: &str, bytes: &[u8]) -> Catalog {
    let start = Instant::now();
    let catalog = try_index(bytes, None, &json!({"base_url": ENDPOINT}))
        .unwrap_or_else(|failure| panic!("{}", failure.message));
    let sum = |size: fn(&executor_common::seam::Tool) -> usize| catalog.tools.iter().map(size).sum::<usize>();
    println!(
        "{name}: {} tools in {:?}; bytes: input {}, output {}, bindings {}, definitions {}, table {:?}",
        catalog.tools.len(),
        start.elapsed(),
        sum(|tool| tool.input_schema.len()),
        sum(|tool| tool.output_schema.as_ref().map_or(0, String::len)),
        sum(|tool| tool.binding.len()),
        catalog.definitions.values().map(String::len).sum::<usize>(),
        catalog.files.sizes(),
    );
    catalog
}

/// Every operation of a catalogue against its schema, with no argument but
/// those that must be there, and with all of them.
fn check(catalog: &Catalog, schema: &Valid<Schema>) {
    for tool in &catalog.tools {
        assert!(tool.binding.len() < 16 << 10 && tool.input_schema.len() < 32 << 10, "{}", tool.name);
        assert!(tool.output_schema.as_ref().unwrap().len() < 64 << 10, "{}", tool.name);
        let input = catalog.input(&tool.name);
        for all in [false, true] {
            let arguments = Value::Object(sample_object(catalog, &input, all, 0));
            let body = sent(catalog, &tool.name, &arguments);
            let document = validate(schema, body["query"].as_str().unwrap());
            coerced(schema, &document, &tool.name, &body["variables"]);
        }
    }
}

fn sent(catalog: &Catalog, tool: &str, arguments: &Value) -> Value {
    let mut api = Api::answering(500, "text/plain", b"");
    let call = Call {
        tool: tool.to_owned(),
        binding: catalog.tool(tool).binding.clone(),
        arguments: arguments.to_string(),
        settings: json!({"base_url": ENDPOINT}).to_string(),
    };
    let failure = source::invoke(&call, &mut api).unwrap_err();
    let request = api.requests.first().unwrap_or_else(|| panic!("{tool} {arguments}: {}", failure.message));
    let body = String::from_utf8(bytes_of(request)).unwrap();
    let json = if body.starts_with("--") {
        body.split("\r\n\r\n").nth(1).unwrap().split("\r\n").next().unwrap()
    } else {
        &body
    };
    serde_json::from_str(json).unwrap()
}

fn coerced(schema: &Valid<Schema>, document: &Valid<ExecutableDocument>, tool: &str, variables: &Value) {
    let operation = document.operations.get(None).unwrap();
    let values: JsonMap = serde_json::from_value(variables.clone()).unwrap();
    if let Err(fault) = coerce_variable_values(schema, operation, &values) {
        // Files are null in the operation and come beside it.
        let is_file = fault.message().to_string().contains("type Upload");
        assert!(is_file, "{tool} {variables}: {}", fault.message());
    }
}

/// A value that a schema takes: with all properties, or those it must have.
fn sample(catalog: &Catalog, schema: &Value, all: bool, depth: usize) -> Value {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let definition = catalog.definition(reference.strip_prefix("#/$defs/").unwrap());
        return sample(catalog, &definition, all, depth + 1);
    }
    if let Some(first) = schema.get("anyOf").and_then(|list| list.get(0)) {
        return sample(catalog, first, all, depth);
    }
    if let Some(first) = schema.get("enum").and_then(|list| list.get(0)) {
        return first.clone();
    }
    let kind = schema.get("type").map(|kind| kind.as_str().unwrap_or_else(|| kind[0].as_str().unwrap()));
    match kind {
        Some("string") => json!("text"),
        Some("integer") => json!(7),
        Some("number") => json!(1.5),
        Some("boolean") => json!(true),
        Some("array") => json!([sample(catalog, &schema["items"], all, depth)]),
        Some("object") => Value::Object(sample_object(catalog, schema, all, depth)),
        _ => json!("any"),
    }
}

fn sample_object(catalog: &Catalog, schema: &Value, all: bool, depth: usize) -> Map<String, Value> {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let one_of = schema.get("maxProperties").is_some();
    // What is not required ends somewhere, as inputs refer to themselves.
    let wanted = |name: &str| {
        required.contains(&name) || ((all && depth < 3) || one_of) && !name.starts_with("select")
    };
    let taken = properties.iter().filter(|(name, _)| wanted(name)).take(if one_of { 1 } else { usize::MAX });
    taken.map(|(name, schema)| (name.clone(), sample(catalog, schema, all, depth + 1))).collect()
}

/// The SDL of an introspection, written from the JSON itself.
fn sdl(root: &Value) -> String {
    let schema = root.pointer("/data/__schema").unwrap_or_else(|| &root["__schema"]);
    let mut out = String::from("schema {");
    for operation in ["query", "mutation", "subscription"] {
        if let Some(name) = schema[format!("{operation}Type")]["name"].as_str() {
            out.push_str(&format!(" {operation}: {name}"));
        }
    }
    out.push_str(" }\n");
    for ty in schema["types"].as_array().unwrap() {
        out.push_str(&type_sdl(ty));
    }
    out
}

/// Its description before it, and `@deprecated` after it.
fn told(one: &Value, text: &str) -> String {
    // A string of JSON is one of GraphQL.
    let description = one["description"].as_str().filter(|text| !text.is_empty());
    let description = description.map(|text| format!("{} ", json!(text))).unwrap_or_default();
    let reason = json!(one["deprecationReason"].as_str().unwrap_or_default());
    let deprecated = if one["isDeprecated"] == json!(true) {
        format!(" @deprecated(reason: {reason})")
    } else {
        String::new()
    };
    format!("{description}{text}{deprecated}\n")
}

fn type_sdl(ty: &Value) -> String {
    let name = ty["name"].as_str().unwrap();
    let list = |key: &str| ty[key].as_array().cloned().unwrap_or_default();
    let names = |key: &str, mark: &str| {
        list(key).iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(mark)
    };
    let input = |one: &Value| {
        let default = one["defaultValue"].as_str().map(|text| format!(" = {text}")).unwrap_or_default();
        told(one, &format!("{}: {}{default}", one["name"].as_str().unwrap(), type_text(&one["type"])))
    };
    let field = |one: &Value| {
        let arguments: String = one["args"].as_array().unwrap().iter().map(input).collect();
        let arguments = if arguments.is_empty() { arguments } else { format!("({arguments})") };
        told(one, &format!("{}{arguments}: {}", one["name"].as_str().unwrap(), type_text(&one["type"])))
    };
    let fields = || list("fields").iter().map(field).collect::<String>();
    let implements = match list("interfaces").is_empty() {
        true => String::new(),
        false => format!(" implements {}", names("interfaces", " & ")),
    };
    let text = match ty["kind"].as_str().unwrap() {
        _ if name.starts_with("__") => return String::new(),
        "SCALAR" if ["String", "Int", "Float", "Boolean", "ID"].contains(&name) => return String::new(),
        "SCALAR" => format!("scalar {name}"),
        "OBJECT" => format!("type {name}{implements} {{ {} }}", fields()),
        "INTERFACE" => format!("interface {name}{implements} {{ {} }}", fields()),
        "UNION" => format!("union {name} = {}", names("possibleTypes", " | ")),
        "ENUM" => {
            let values = list("enumValues");
            let values: String = values.iter().map(|one| told(one, one["name"].as_str().unwrap())).collect();
            format!("enum {name} {{ {values} }}")
        }
        _ => {
            let one_of = if ty["isOneOf"] == json!(true) { " @oneOf" } else { "" };
            let inputs: String = list("inputFields").iter().map(input).collect();
            format!("input {name}{one_of} {{ {inputs} }}")
        }
    };
    told(&json!({"description": ty["description"]}), &text)
}

fn type_text(ty: &Value) -> String {
    match ty["kind"].as_str().unwrap() {
        "NON_NULL" => format!("{}!", type_text(&ty["ofType"])),
        "LIST" => format!("[{}]", type_text(&ty["ofType"])),
        _ => ty["name"].as_str().unwrap().to_owned(),
    }
}

#[test]
fn github() {
    let Some(bytes) = fixture("octokit-graphql-schema/schema.graphql") else { return };
    let catalog = indexed("GitHub, SDL", &bytes);
    assert_eq!(catalog.tools.len(), 278);
    // Two fields of the published schema are there twice.
    let twice = |text: &str| text.contains("repositoryDeployKeySetting");
    assert_eq!(catalog.warnings.iter().filter(|warning| twice(&warning.message)).count(), 2);
    assert_eq!(catalog.warnings.len(), 2, "{:?}", catalog.warnings);
    let read = Schema::parse_and_validate(std::str::from_utf8(&bytes).unwrap(), "schema.graphql");
    let faults = read.expect_err("what is there twice is a fault to the compiler");
    assert!(faults.errors.iter().all(|fault| twice(&fault.to_string())), "{}", faults.errors);
    check(&catalog, &Valid::assume_valid(faults.partial));
    let viewer = catalog.selection("query.viewer");
    assert!(viewer.contains("login") && viewer.contains("databaseId"), "{viewer}");
    assert!(catalog.selection("mutation.createIssue").contains("issue { "));
    assert!(catalog.query("query.search", &json!({"query": "x", "type": "ISSUE"})).contains("$first: Int"));
    let select = "nodes { ... on Issue { title author { login } labels(first: 3) { nodes { name } } } }";
    let query = catalog.query("query.search", &json!({"query": "x", "type": "ISSUE", "select": select}));
    assert!(query.contains("labels(first: 3)"), "{query}");
    let message =
        catalog.refusal("query.viewer", &json!({"select": "logn repositories(frist: 1) { nodes { nam } }"}));
    assert!(message.contains("did you mean login") && message.contains("did you mean first"), "{message}");
}

#[test]
fn both_forms_read_the_same() {
    let Some(json) = fixture("octokit-graphql-schema/schema.json") else { return };
    let other = indexed("GitHub, introspection", &json);
    let one = indexed("GitHub, written as SDL", sdl(&serde_json::from_slice(&json).unwrap()).as_bytes());
    assert_eq!(one.names(), other.names());
    assert_eq!(one.tools.len(), 272, "30 queries and 242 mutations");
    for (tool, same) in one.tools.iter().zip(&other.tools) {
        assert_eq!((&tool.input_schema, &tool.output_schema), (&same.input_schema, &same.output_schema));
        assert_eq!((&tool.description, &tool.annotations), (&same.description, &same.annotations));
        assert_eq!(one.selection(&tool.name), other.selection(&tool.name));
    }
    assert_eq!(one.definitions, other.definitions);
}

#[test]
fn shopify() {
    for name in ["storefront", "customer-account"] {
        let Some(bytes) = fixture(&format!("shopify-hydrogen-react/{name}.schema.json")) else { return };
        let catalog = indexed(name, &bytes);
        assert!(catalog.tools.len() > 30 && catalog.warnings.is_empty(), "{:?}", catalog.warnings);
        check(&catalog, &compiled(&sdl(&serde_json::from_slice(&bytes).unwrap())));
    }
}

#[test]
fn nautical_and_dialogporten() {
    for name in
        ["nautical-graphql-schema/nautical/schema.graphql", "dialogporten-schema/schema.verified.graphql"]
    {
        let Some(bytes) = fixture(name) else { return };
        let catalog = indexed(name, &bytes);
        let schema = Schema::parse_and_validate(std::str::from_utf8(&bytes).unwrap(), "schema.graphql");
        match schema {
            Ok(schema) => check(&catalog, &schema),
            Err(faults) => panic!(
                "{name} is no valid schema: {}",
                faults.errors.to_string().chars().take(600).collect::<String>()
            ),
        }
    }
}
