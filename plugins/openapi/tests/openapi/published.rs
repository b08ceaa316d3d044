//! Documents that are published, where `EXECUTOR_FIXTURES` names a directory
//! with `octokit-openapi/` (npm `@octokit/openapi` 23.0.2) and `oas-examples/`
//! (npm `@readme/oas-examples` 8.2.2) in it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::support::{Catalog, try_index};
use serde_json::{Value, json};

fn fixtures(name: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("EXECUTOR_FIXTURES") else {
        println!("skipped: EXECUTOR_FIXTURES is not set");
        return None;
    };
    let path = Path::new(&root).join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn check(catalog: &Catalog) {
    let mut names = HashSet::new();
    for tool in &catalog.tools {
        assert!(names.insert(tool.name.to_ascii_lowercase()), "{}", tool.name);
        let input: Value = serde_json::from_str(&tool.input_schema).unwrap();
        assert_eq!(input["type"], "object", "{}", tool.name);
        references(&input, catalog);
        if let Some(output) = &tool.output_schema {
            references(&serde_json::from_str(output).unwrap(), catalog);
        }
    }
    for schema in catalog.definitions.values() {
        references(&serde_json::from_str(schema).unwrap(), catalog);
    }
}

fn references(value: &Value, catalog: &Catalog) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                let name = reference.strip_prefix("#/$defs/").unwrap_or_else(|| panic!("{value}"));
                assert!(catalog.definitions.contains_key(name), "{name}");
            }
            map.values().for_each(|member| references(member, catalog));
        }
        Value::Array(list) => list.iter().for_each(|member| references(member, catalog)),
        _ => {}
    }
}

#[test]
fn github() {
    let Some(path) = fixtures("octokit-openapi/generated/api.github.com.json") else {
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    let start = Instant::now();
    let catalog = try_index(&bytes, Some("https://example.com/api.github.com.json"), &json!({})).unwrap();
    println!("indexed in {:?}", start.elapsed());
    assert_eq!(catalog.tools.len(), 1223);
    check(&catalog);
    assert_eq!(catalog.codes(), ["no-security-declared"], "{:?}", catalog.warnings);
    assert_eq!(
        catalog.summary_meta()["origins"],
        json!(["https://api.github.com", "https://uploads.github.com"])
    );
    let input = catalog.input("issues.create");
    assert_eq!(input["required"], json!(["owner", "repo", "body"]));
    assert_eq!(input["properties"]["body"]["required"], json!(["title"]));
    assert_eq!(catalog.output("issues.create"), json!({"$ref": "#/$defs/issue"}));
    assert_eq!(catalog.meta("issues.create")["request"], "POST /repos/{owner}/{repo}/issues");
    assert!(!catalog.tool("repos.listForOrg").annotations.requires_approval);
    let sent = catalog
        .request("issues.create", json!({"owner": "o/..", "repo": "r", "body": {"title": "t"}}))
        .unwrap();
    assert_eq!(sent.url, "https://api.github.com/repos/o%2F../r/issues");
    let upload = catalog.url(
        "repos.uploadReleaseAsset",
        json!({"owner": "o", "repo": "r", "release_id": 1, "name": "a b.zip", "body": {"$file": "blob:1"}}),
    );
    assert_eq!(upload, "https://uploads.github.com/repos/o/r/releases/1/assets?name=a%20b.zip");
    let marked: Vec<&str> = catalog.names().into_iter().filter(|name| name.contains('_')).collect();
    assert!(marked.is_empty(), "{marked:?}");
}

#[test]
fn readme_examples() {
    let Some(root) = fixtures("oas-examples") else {
        return;
    };
    let mut files = Vec::new();
    for folder in ["3.0/json", "3.1/json", "3.0/yaml", "3.1/yaml"] {
        collect(&root.join(folder), &mut files);
    }
    assert!(files.len() > 80, "{}", files.len());
    let mut twins: std::collections::BTreeMap<String, Vec<String>> = std::collections::BTreeMap::new();
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        let catalog = try_index(&bytes, Some("https://example.com/x/y.json"), &json!({}))
            .unwrap_or_else(|failure| panic!("{name}: {}", failure.message));
        check(&catalog);
        println!(
            "{name}: {} tools, {:?}",
            catalog.tools.len(),
            catalog.warnings.iter().map(|warning| &warning.message).collect::<Vec<_>>()
        );
        let shapes: Vec<&str> = catalog.tools.iter().map(|tool| tool.input_schema.as_str()).collect();
        let key = name.replace("/yaml/", "/json/").replace(".yaml", ".json");
        twins.entry(key).or_default().push(format!("{:?}{shapes:?}", catalog.names()));
    }
    for (name, both) in twins {
        if let [json, yaml] = both.as_slice() {
            assert_eq!(json, yaml, "{name} reads the same from JSON and YAML");
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "json" || end == "yaml") {
            files.push(path);
        }
    }
    files.sort();
}
