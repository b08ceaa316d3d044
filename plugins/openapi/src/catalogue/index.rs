//! Streams a document's catalogue into the host.

use serde_json::{Value, json};

use super::model::{Edition, Model, edition};
use super::operations::{self, Found, MAX_OPERATIONS, Operation};
use super::report::Report;
use super::security::Security;
use super::{names, servers, tool};
use crate::address;
use crate::document::{Parsed, Refs, gather, read};
use crate::schema::Definitions;
use crate::seam::{Failure, Http, IndexRequest, Sink, Summary, Tool};
use crate::settings::Settings;
use crate::text::line;
use crate::wire::base;

const MAX_BATCH_TOOLS: usize = 500;
const MAX_BATCH_BYTES: usize = 2 << 20;
/// Paths and bodies that many operations refer to are written out in each.
const MAX_CATALOGUE_BYTES: usize = 512 << 20;

/// Reads the request's document, and through `http` those that it refers to,
/// and hands its definitions, auth methods and tools to the sink. A fault in
/// an operation costs that operation and is warned about.
///
/// # Errors
/// `document-missing`, `document-invalid`, `document-unsupported`,
/// `settings-invalid`, and what the sink answers.
pub fn index<H: Http>(request: &IndexRequest, sink: &mut dyn Sink, http: &mut H) -> Result<Summary, Failure> {
    let document = request.document.as_ref().ok_or_else(|| {
        Failure::new(
            "document-missing",
            "an OpenAPI source needs its document: add it by the document's URL or file",
        )
    })?;
    let settings = Settings::read(&request.settings)?;
    let place = document.url.as_deref();
    // No server is beside the files of a directory.
    let url = place.filter(|place| !address::is_of_files(place));
    let mut parsed = read(&document.body)?;
    let edition = edition(&parsed.root)?;
    let mut report = Report::default();
    warn_of_text(&mut report, sink, &parsed);
    for fault in gather(&mut parsed.root, place, &settings.reference_origins, http) {
        report.warn(sink, None, "reference", &fault);
    }
    let root = &parsed.root;
    let refs = Refs::new(root);
    let found = operations::find(root, refs);
    warn_of_document(&mut report, sink, root, &edition, &found);
    let mut faults = Vec::new();
    let model = Model {
        root,
        version: edition.version,
        refs,
        url,
        settings: &settings,
        servers: if settings.base_url.is_some() {
            Vec::new()
        } else {
            servers::of_document(root, url, &mut faults)
        },
        security: Security::read(root, refs, url, &found.operations),
    };
    for fault in faults {
        report.warn(sink, None, "server-unusable", &fault);
    }
    let mut run = Run { model: &model, definitions: Definitions::new(root, edition.version), report, sink };
    run.auth_methods()?;
    run.definitions()?;
    let tools = run.tools(&found)?;
    run.definitions()?;
    let origins = run.origins(&found);
    run.report.close(run.sink);
    Ok(summary(&model, &edition, tools, &origins))
}

fn warn_of_text(report: &mut Report, sink: &mut dyn Sink, parsed: &Parsed) {
    if parsed.latin {
        report.warn(sink, None, "encoding", "the document is not UTF-8 and was read as ISO 8859-1");
    }
    for key in &parsed.duplicates {
        let message = format!("the key {key:?} stands twice in one object: the last one counts");
        report.warn(sink, None, "duplicate-key", &message);
    }
}

fn warn_of_document(
    report: &mut Report,
    sink: &mut dyn Sink,
    root: &Value,
    edition: &Edition,
    found: &Found<'_>,
) {
    if edition.newer {
        let message = format!("OpenAPI {} is read as 3.2; what is new in it is not used", edition.text);
        report.warn(sink, None, "newer-version", &message);
    }
    for fault in &found.faults {
        report.warn(sink, None, "operation-unreadable", fault);
    }
    if found.beyond > 0 {
        let message = format!(
            "the document has {} operations more than the {MAX_OPERATIONS} that are read",
            found.beyond
        );
        report.warn(sink, None, "too-many-operations", &message);
    }
    if found.operations.is_empty() {
        let why = if root.get("webhooks").is_some() {
            "only webhooks, which are for the API to call"
        } else {
            "no operations"
        };
        report.warn(
            sink,
            None,
            "no-operations",
            &format!("the document describes {why}: there is nothing to call"),
        );
    }
}

fn summary(model: &Model<'_>, edition: &Edition, tools: usize, origins: &[String]) -> Summary {
    let info = |key: &str| {
        let value = model.root.pointer(&format!("/info/{key}"))?;
        match value {
            Value::String(text) => Some(line(text, 200)),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    };
    Summary {
        title: info("title"),
        version: info("version"),
        base_url: base::default(&model.servers, model.settings).ok(),
        raw_document: true,
        meta: Some(
            json!({
                "origins": origins, "specification": edition.text, "operations": tools, "transport": "http",
            })
            .to_string(),
        ),
    }
}

struct Run<'r, 'd> {
    model: &'r Model<'d>,
    definitions: Definitions<'d>,
    report: Report,
    sink: &'r mut dyn Sink,
}

impl<'d> Run<'_, 'd> {
    fn auth_methods(&mut self) -> Result<(), Failure> {
        for (code, fault) in &self.model.security.faults {
            self.report.warn(self.sink, None, code, fault);
        }
        self.sink.put_auth_methods(self.model.security.methods.clone())
    }

    /// Writes what is waiting; writing may find more that is referred to.
    fn definitions(&mut self) -> Result<(), Failure> {
        let mut batch = Vec::new();
        let mut size = 0;
        while let Some((name, written)) = self.definitions.take_next() {
            for fault in &written.faults {
                let message = format!("in the schema {name}: {fault}");
                self.report.warn(self.sink, None, "reference", &message);
            }
            size += name.len() + written.json.len();
            batch.push((name, written.json));
            if batch.len() == MAX_BATCH_TOOLS || size >= MAX_BATCH_BYTES {
                self.sink.put_definitions(std::mem::take(&mut batch))?;
                size = 0;
            }
        }
        if batch.is_empty() { Ok(()) } else { self.sink.put_definitions(batch) }
    }

    fn tools(&mut self, found: &Found<'d>) -> Result<usize, Failure> {
        let names = names::assign(&found.operations);
        let total = found.operations.len();
        let mut batch: Vec<Tool> = Vec::new();
        let (mut taken, mut batch_bytes, mut bytes) = (0, 0, 0);
        for (done, (operation, name)) in found.operations.iter().zip(&names).enumerate() {
            let Some(tool) = self.tool(operation, name) else {
                continue;
            };
            let size = size_of(&tool);
            bytes += size;
            if bytes > MAX_CATALOGUE_BYTES {
                self.warn_of_size(total - done);
                break;
            }
            let is_full = batch.len() == MAX_BATCH_TOOLS || batch_bytes + size > MAX_BATCH_BYTES;
            if is_full && !batch.is_empty() {
                taken += self.put(std::mem::take(&mut batch))?;
                batch_bytes = 0;
                self.sink.progress(done as u64, Some(total as u64), "tools");
            }
            batch_bytes += size;
            batch.push(tool);
        }
        if !batch.is_empty() {
            taken += self.put(batch)?;
        }
        self.sink.progress(total as u64, Some(total as u64), "tools");
        Ok(taken)
    }

    /// The tool of an operation; none, and a warning, where there can't be one.
    fn tool(&mut self, operation: &Operation<'d>, name: &str) -> Option<Tool> {
        let mut faults = Vec::new();
        let built = tool::build(self.model, &mut self.definitions, operation, name, &mut faults);
        for fault in &faults {
            let message = format!("{}: {fault}", operation.request());
            self.report.warn(self.sink, Some(name), "operation-incomplete", &message);
        }
        match built {
            Ok(tool) => Some(tool),
            Err(why) => {
                let message = format!("{} is left out: {why}", operation.request());
                self.report.warn(self.sink, Some(name), "operation-unsupported", &message);
                None
            }
        }
    }

    fn warn_of_size(&mut self, left_out: usize) {
        let message = format!(
            "the tools would have more than {MAX_CATALOGUE_BYTES} bytes: {left_out} operations are left out"
        );
        self.report.warn(self.sink, None, "too-many-operations", &message);
    }

    fn put(&mut self, batch: Vec<Tool>) -> Result<usize, Failure> {
        let names: Vec<String> = batch.iter().map(|tool| tool.name.clone()).collect();
        let refused = self.sink.put_tools(batch)?;
        for (index, why) in &refused {
            let name = names.get(*index as usize).map(String::as_str);
            self.report.warn(
                self.sink,
                name,
                "tool-refused",
                &format!("the host did not take the tool: {why}"),
            );
        }
        Ok(names.len().saturating_sub(refused.len()))
    }

    /// Every origin a call may go to, so that a person can pin them.
    fn origins(&mut self, found: &Found<'d>) -> Vec<String> {
        let mut origins = Vec::new();
        if let Some(base) = &self.model.settings.base_url {
            origins.extend(address::origin(base));
            return origins;
        }
        origins.extend(
            base::default(&self.model.servers, self.model.settings)
                .ok()
                .and_then(|base| address::origin(&base)),
        );
        servers::add_origins(&self.model.servers, &mut origins);
        for operation in &found.operations {
            servers::add_origins(
                &servers::of_operation(operation, self.model.url, &mut Vec::new()),
                &mut origins,
            );
        }
        self.warn_of_private(&origins);
        origins
    }

    fn warn_of_private(&mut self, origins: &[String]) {
        let from = self.model.url.and_then(address::host);
        if from.is_none_or(|host| address::is_private(&host)) {
            return;
        }
        for origin in origins {
            if address::host(origin).is_some_and(|host| address::is_private(&host)) {
                let message = format!(
                    "the document comes from the internet but names the server {origin}, which is on this machine or a private network"
                );
                self.report.warn(self.sink, None, "private-server", &message);
            }
        }
    }
}

fn size_of(tool: &Tool) -> usize {
    tool.name.len()
        + tool.description.len()
        + tool.input_schema.len()
        + tool.output_schema.as_ref().map_or(0, String::len)
        + tool.binding.len()
        + tool.meta.as_ref().map_or(0, String::len)
        + tool.auth.iter().flatten().map(String::len).sum::<usize>()
}
