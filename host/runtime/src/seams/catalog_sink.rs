//! `executor:adapter/catalog-sink`: where an index puts what it found.
//!
//! Writes are staged; the control plane swaps them in as a whole when the
//! index returned ok. What a stranger wrote is bounded here, once, so that
//! search, signatures and validation deal with sane sizes.

use std::collections::HashSet;

use executor_bindings::adapter::executor::adapter::{catalog_sink, types};
use executor_store::{AuthMethodRow, Digest, Staged, ToolRow, WarningRow};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{AdapterSeam, host_failure, plain_text};
use crate::adapter::Progress;
use crate::fault::{Ended, FaultKind};
use crate::guest::Guest;

/// Tools of one source: Microsoft Graph's beta has some 17,000.
const TOOLS: usize = 50_000;
const DEFINITIONS: usize = 100_000;
const AUTH_METHODS: usize = 200;
const WARNINGS: usize = 2_000;

/// Bytes of all that one index stages.
const STAGED_BYTES: usize = 512 * 1024 * 1024;

const AUTH_ID_BYTES: usize = 100;
/// Ways to sign in of one tool, and methods that one of them takes together.
const AUTH_ALTERNATIVES: usize = 100;
/// What an empty text or list costs the host.
const EMPTY_BYTES: usize = 24;
const DEFINITION_NAME_BYTES: usize = 400;

const NAME_CHARS: usize = 128;
const SCHEMA_BYTES: usize = 1024 * 1024;
const SCHEMA_DEPTH: usize = 96;
const BINDING_BYTES: usize = 1024 * 1024;
const META_BYTES: usize = 1024 * 1024;
const DESCRIPTION_CHARS: usize = 8_000;

/// What an index has put so far.
pub(super) struct Sink {
    staged: Staged,
    names: HashSet<String>,
    definitions: HashSet<String>,
    bytes: usize,
    progress: Progress,
}

impl Sink {
    pub(super) fn new(progress: Progress) -> Self {
        Self {
            staged: Staged::default(),
            names: HashSet::new(),
            definitions: HashSet::new(),
            bytes: 0,
            progress,
        }
    }

    pub(super) fn into_staged(self) -> Staged {
        self.staged
    }

    fn put_tool(&mut self, tool: types::Tool) -> Result<(), String> {
        if self.staged.tools.len() >= TOOLS {
            return Err(format!("a source has at most {TOOLS} tools"));
        }
        check_name(&tool.name)?;
        if self.names.contains(&tool.name) {
            return Err("another tool of this source has this name".into());
        }
        check_schema(&tool.input_schema, "input-schema")?;
        if let Some(output) = &tool.output_schema {
            check_schema(output, "output-schema")?;
        }
        if tool.binding.len() > BINDING_BYTES {
            return Err(format!(
                "its binding has {} bytes; at most {BINDING_BYTES} are taken",
                tool.binding.len()
            ));
        }
        check_meta(tool.meta.as_deref(), "meta")?;
        check_meta(tool.annotations.meta.as_deref(), "annotations' meta")?;
        if tool.auth.len() > AUTH_ALTERNATIVES || tool.auth.iter().any(|all| all.len() > AUTH_ALTERNATIVES) {
            return Err(format!("it has more than {AUTH_ALTERNATIVES} ways to sign in"));
        }
        self.names.insert(tool.name.clone());
        self.staged.tools.push(row(tool));
        Ok(())
    }

    fn put_definition(&mut self, name: &str, schema: String) -> Result<(), String> {
        if name.is_empty() || name.len() > DEFINITION_NAME_BYTES || name.chars().any(char::is_control) {
            return Err(format!(
                "a definition's name has 1 to {DEFINITION_NAME_BYTES} bytes and no controls"
            ));
        }
        check_schema(&schema, "definition")?;
        if !self.definitions.insert(name.to_owned()) {
            return Err("another definition of this source has this name".into());
        }
        self.staged.definitions.push((name.to_owned(), schema));
        Ok(())
    }

    /// Accounts for bytes about to be staged.
    fn weigh(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > STAGED_BYTES {
            return Err(Ended::error(
                FaultKind::Denied,
                format!("its index is larger than {STAGED_BYTES} bytes"),
            ));
        }
        Ok(())
    }

    fn warn(&mut self, tool: Option<String>, code: String, message: String) {
        if self.staged.warnings.len() < WARNINGS {
            self.staged.warnings.push(WarningRow {
                tool: tool.map(|tool| plain_text(&tool, 200)),
                code: plain_text(&code, 64),
                message: plain_text(&message, 1_000),
            });
        }
    }
}

impl Guest<AdapterSeam> {
    fn sink(&mut self) -> Result<&mut Sink, types::Failure> {
        self.seam.sink.as_mut().ok_or_else(|| host_failure("denied", "only index may write to the catalogue"))
    }
}

impl catalog_sink::Host for Guest<AdapterSeam> {
    async fn put_tools(
        &mut self,
        batch: Vec<types::Tool>,
    ) -> wasmtime::Result<Result<Vec<(u32, String)>, types::Failure>> {
        let sink = match self.sink() {
            Ok(sink) => sink,
            Err(failure) => return Ok(Err(failure)),
        };
        let mut refused = Vec::new();
        for (index, tool) in (0_u32..).zip(batch) {
            sink.weigh(weight(&tool))?;
            let name = tool.name.clone();
            if let Err(reason) = sink.put_tool(tool) {
                sink.warn(Some(name), "tool-refused".into(), reason.clone());
                refused.push((index, reason));
            }
        }
        Ok(Ok(refused))
    }

    async fn put_definitions(
        &mut self,
        batch: Vec<(String, String)>,
    ) -> wasmtime::Result<Result<(), types::Failure>> {
        let sink = match self.sink() {
            Ok(sink) => sink,
            Err(failure) => return Ok(Err(failure)),
        };
        for (name, schema) in batch {
            sink.weigh(name.len() + schema.len())?;
            if sink.staged.definitions.len() >= DEFINITIONS {
                let message = format!("a source has at most {DEFINITIONS} definitions");
                return Ok(Err(host_failure("too-large", message)));
            }
            if let Err(reason) = sink.put_definition(&name, schema) {
                sink.warn(None, "definition-refused".into(), format!("{name}: {reason}"));
            }
        }
        Ok(Ok(()))
    }

    async fn put_auth_methods(
        &mut self,
        methods: Vec<types::AuthMethod>,
    ) -> wasmtime::Result<Result<(), types::Failure>> {
        let sink = match self.sink() {
            Ok(sink) => sink,
            Err(failure) => return Ok(Err(failure)),
        };
        for method in methods {
            sink.weigh(method.config.len() + method.meta.as_ref().map_or(0, String::len))?;
            let known = sink.staged.auth_methods.iter().any(|other| other.id == method.id);
            let sound = is_object(&method.config)
                && method.config.len() <= SCHEMA_BYTES
                && check_meta(method.meta.as_deref(), "meta").is_ok()
                && (1..=AUTH_ID_BYTES).contains(&method.id.len());
            if known || !sound || sink.staged.auth_methods.len() >= AUTH_METHODS {
                let reason = "auth methods have distinct ids and an object as configuration";
                sink.warn(None, "auth-method-refused".into(), format!("{}: {reason}", method.id));
                continue;
            }
            sink.staged.auth_methods.push(AuthMethodRow {
                id: plain_text(&method.id, 100),
                kind: plain_text(&method.kind, 64),
                label: plain_text(&method.label, 200),
                config: method.config,
                meta: method.meta,
            });
        }
        Ok(Ok(()))
    }

    async fn warn(&mut self, warning: types::Warning) -> wasmtime::Result<()> {
        if let Ok(sink) = self.sink() {
            sink.warn(warning.tool, warning.code, warning.message);
        }
        Ok(())
    }

    async fn progress(&mut self, done: u64, total: Option<u64>, what: String) -> wasmtime::Result<()> {
        if let Ok(sink) = self.sink() {
            (sink.progress)(done, total, &plain_text(&what, 100));
        }
        Ok(())
    }
}

/// The keys of a tool's `meta` that the host reads.
#[derive(Default, Deserialize)]
struct Told<'a> {
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    request: Option<&'a RawValue>,
}

fn row(tool: types::Tool) -> ToolRow {
    let told: Told<'_> =
        tool.meta.as_deref().and_then(|meta| serde_json::from_str(meta).ok()).unwrap_or_default();
    let text = |value: Option<&RawValue>, limit| {
        let text: String = serde_json::from_str(value?.get()).ok()?;
        Some(plain_text(&text, limit))
    };
    let description = plain_text(&tool.description, DESCRIPTION_CHARS);
    let digest = digest(&tool);
    ToolRow {
        summary: text(told.summary, 300).unwrap_or_else(|| first_sentence(&description)),
        request: text(told.request, 500),
        title: tool.annotations.title.map(|title| plain_text(&title, 300)),
        name: tool.name,
        description,
        input_schema: tool.input_schema,
        output_schema: tool.output_schema,
        read_only: tool.annotations.read_only,
        destructive: tool.annotations.destructive,
        idempotent: tool.annotations.idempotent,
        deprecated: tool.annotations.deprecated,
        requires_approval: tool.annotations.requires_approval,
        auth: tool.auth,
        binding: tool.binding,
        annotations_meta: tool.annotations.meta,
        meta: tool.meta,
        digest,
    }
}

/// What an approval "from now on" is pinned to: everything that says what a
/// tool does.
fn digest(tool: &types::Tool) -> Digest {
    let annotations = &tool.annotations;
    let flags = [
        annotations.read_only,
        annotations.destructive,
        annotations.idempotent,
        annotations.requires_approval,
    ];
    let parts: [&[u8]; 6] = [
        tool.name.as_bytes(),
        tool.description.as_bytes(),
        tool.input_schema.as_bytes(),
        tool.output_schema.as_deref().unwrap_or_default().as_bytes(),
        &tool.binding,
        &flags.map(u8::from),
    ];
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    Digest::of(&bytes)
}

fn weight(tool: &types::Tool) -> usize {
    tool.name.len()
        + tool.description.len()
        + tool.input_schema.len()
        + tool.output_schema.as_ref().map_or(0, String::len)
        + tool.binding.len()
        + tool.meta.as_ref().map_or(0, String::len)
        + tool.annotations.title.as_ref().map_or(0, String::len)
        + tool.annotations.meta.as_ref().map_or(0, String::len)
        + tool.auth.len() * EMPTY_BYTES
        + tool.auth.iter().flatten().map(|id| id.len() + EMPTY_BYTES).sum::<usize>()
}

fn first_sentence(text: &str) -> String {
    let end = text.find(". ").or_else(|| text.find('\n')).unwrap_or(text.len());
    text[..end].chars().take(300).collect()
}

/// `group.leaf`: segments of letters, digits, `_`, `-` and `$`.
fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.chars().count() > NAME_CHARS {
        return Err(format!("a tool's name has 1 to {NAME_CHARS} characters"));
    }
    let plain = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '$');
    let sound = name.split('.').all(|segment| {
        !segment.is_empty()
            && segment.chars().all(plain)
            && !matches!(segment, "then" | "constructor" | "prototype" | "__proto__" | "toJSON")
    });
    if sound {
        Ok(())
    } else {
        Err("a tool's name is words of letters, digits, _ and -, joined by dots".into())
    }
}

fn check_schema(schema: &str, what: &str) -> Result<(), String> {
    if schema.len() > SCHEMA_BYTES {
        return Err(format!("its {what} has {} bytes; at most {SCHEMA_BYTES} are taken", schema.len()));
    }
    if depth(schema) > SCHEMA_DEPTH {
        return Err(format!("its {what} is nested deeper than {SCHEMA_DEPTH}"));
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(schema) {
        Ok(_) if schema.trim_start().starts_with(['{', 't', 'f']) => Ok(()),
        Ok(_) => Err(format!("its {what} is neither an object nor a boolean")),
        Err(error) => Err(format!("its {what} is not JSON: {error}")),
    }
}

fn check_meta(meta: Option<&str>, what: &str) -> Result<(), String> {
    match meta.map_or(0, str::len) {
        ..=META_BYTES => Ok(()),
        bytes => Err(format!("its {what} has {bytes} bytes; at most {META_BYTES} are taken")),
    }
}

fn is_object(json: &str) -> bool {
    json.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok()
}

/// How deeply a JSON text nests, without parsing it.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn tool(auth: Vec<Vec<String>>, meta: Option<&str>) -> types::Tool {
        types::Tool {
            name: "echo".into(),
            description: "Echoes. And more".into(),
            input_schema: "{}".into(),
            output_schema: None,
            annotations: types::Annotations {
                title: None,
                read_only: true,
                destructive: false,
                idempotent: true,
                deprecated: false,
                requires_approval: false,
                meta: None,
            },
            auth,
            binding: Vec::new(),
            meta: meta.map(str::to_owned),
        }
    }

    #[test]
    fn what_holds_nothing_weighs_what_it_costs() {
        let nothing = weight(&tool(Vec::new(), None));
        assert_eq!(weight(&tool(vec![Vec::new(); 1_000], None)), nothing + 24_000);
        assert_eq!(weight(&tool(vec![vec![String::new(); 10]; 10], None)), nothing + 110 * 24);
        let mut sink = Sink::new(Arc::new(|_, _, _| {}));
        for auth in [vec![Vec::new(); 101], vec![vec!["a".to_owned(); 101]]] {
            let refused = sink.put_tool(tool(auth, None)).expect_err("it is refused");
            assert_eq!(refused, "it has more than 100 ways to sign in");
        }
        assert_eq!(sink.put_tool(tool(vec![vec!["a".to_owned(); 100]; 100], None)), Ok(()));
    }

    #[test]
    fn of_meta_two_texts_are_read() {
        let check = |meta: &str, summary: &str, request: Option<&str>| {
            let row = row(tool(Vec::new(), Some(meta)));
            assert_eq!((row.summary.as_str(), row.request.as_deref()), (summary, request), "{meta}");
        };
        check(
            r#"{"summary":"Says \u0061.","request":"GET /","other":{"summary":1}}"#,
            "Says a.",
            Some("GET /"),
        );
        check(r#"{"summary":5,"request":"GET /"}"#, "Echoes", Some("GET /"));
        check(r#"{"summary":null}"#, "Echoes", None);
        check(r#"{"summary":"a","summary":"b"}"#, "Echoes", None);
        check("[0,0]", "Echoes", None);
        check("no JSON", "Echoes", None);
        let mut sink = Sink::new(Arc::new(|_, _, _| {}));
        let large = format!("[{}0]", "0,".repeat(META_BYTES / 2));
        let refused = sink.put_tool(tool(Vec::new(), Some(&large))).expect_err("it is refused");
        assert!(refused.starts_with("its meta has 1048579 bytes"), "{refused}");
    }

    #[test]
    fn names_of_tools() {
        for good in ["echo", "issues.create", "a_b-c.d1", "ünïcode.x"] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        let long = "x".repeat(129);
        for bad in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a/b",
            "a\u{1b}[2J",
            "then",
            "issues.then",
            "__proto__",
            "..",
            &long,
        ] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn schemas() {
        assert_eq!(check_schema(r#"{"type":"object"}"#, "input-schema"), Ok(()));
        assert_eq!(check_schema("true", "input-schema"), Ok(()));
        for bad in ["", "{", "[]", "\"x\"", "1", "nul"] {
            assert!(check_schema(bad, "input-schema").is_err(), "{bad:?}");
        }
        let deep = format!("{}{}", "{\"a\":".repeat(200) + "1", "}".repeat(200));
        assert_eq!(
            check_schema(&deep, "input-schema"),
            Err(format!("its input-schema is nested deeper than {SCHEMA_DEPTH}"))
        );
        assert_eq!(depth(r#"{"a":"[[[[\"[["}"#), 1, "brackets in strings don't count");
    }
}
