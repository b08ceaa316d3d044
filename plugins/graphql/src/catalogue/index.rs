//! Streams a schema's catalogue into the host.

use serde::Deserialize;
use serde_json::{Value, json};

use super::definitions::Definitions;
use super::report::Report;
use super::tool::{self, Common};
use super::{auth, names};
use crate::address;
use crate::document::{self, Content, Form};
use crate::introspect;
use crate::schema::{Draft, Field, Schema};
use crate::seam::{Document, Failure, FileWriter, Http, IndexRequest, Sink, Summary, Tool};
use crate::select;
use crate::settings::Settings;
use crate::text::line;
use crate::wire::binding::Operation;

const MAX_BATCH_TOOLS: usize = 500;
const MAX_BATCH_BYTES: usize = 2 << 20;
/// Fields of one root. Schemas that are made of tables have thousands.
const MAX_TOOLS: usize = 20_000;
const MAX_TABLE_BYTES: usize = 24 << 20;

/// What `detect` found.
#[derive(Default, Deserialize)]
struct Config {
    #[serde(default)]
    endpoint: Option<String>,
}

/// Reads the request's document, or asks its URL for the schema, and hands
/// definitions, auth methods and tools to the sink. A fault in a field costs
/// that field and is warned about.
///
/// # Errors
/// `document-missing`, `document-invalid`, `document-unsupported`,
/// `introspection-*`, `settings-invalid`, and what the sink answers.
pub fn index<H: Http>(request: &IndexRequest, sink: &mut dyn Sink, http: &mut H) -> Result<Summary, Failure> {
    let settings = Settings::read(&request.settings)?;
    let config: Config = serde_json::from_str(&request.config).unwrap_or_default();
    let mut report = Report::default();
    let found = match source(request.document.as_ref(), &settings, &config, http) {
        Ok(found) => found,
        Err(Missing::Locked { endpoint, said }) => {
            let told = locked(request.meta.as_deref(), &said);
            report.warn(sink, None, introspect::SIGN_IN_NEEDED, &told);
            sink.put_auth_methods(auth::methods(&settings).0)?;
            report.close(sink);
            return Ok(locked_summary(endpoint));
        }
        Err(Missing::Failed(failure)) => return Err(failure),
    };
    for note in &found.notes {
        report.warn(sink, None, "introspection-limited", note);
    }
    let schema = found.draft.link();
    for fault in &schema.faults {
        report.warn(sink, None, "operation-incomplete", fault);
    }
    if found.endpoint.is_none() {
        report.warn(sink, None, "no-endpoint", "a schema does not say where its API is: calls need the setting base_url, the URL of the GraphQL endpoint");
    }
    let (methods, alternatives) = auth::methods(&settings);
    sink.put_auth_methods(methods)?;
    let table = keep_table(&schema, http, &mut report, sink)?;
    let common = Common {
        endpoint: found.endpoint.as_deref(),
        table: table.as_deref(),
        auth: &alternatives,
        page_size: settings.page_size,
    };
    let mut run = Run { schema: &schema, definitions: Definitions::new(&schema), report, sink };
    run.warn_of_subscriptions();
    let tools = run.tools(&common)?;
    run.definitions()?;
    if tools == 0 {
        run.report.warn(
            run.sink,
            None,
            "no-operations",
            "the schema has no queries and no mutations: there is nothing to call",
        );
    }
    run.report.close(run.sink);
    Ok(summary(&schema, &found.form, found.endpoint, tools, request.document.as_ref()))
}

/// A schema, and where it is from.
struct Found {
    draft: Draft,
    form: String,
    endpoint: Option<String>,
    notes: Vec<String>,
}

/// Why there is no schema.
enum Missing {
    Failed(Failure),
    /// The endpoint shows it to those with a credential alone.
    Locked {
        endpoint: String,
        said: String,
    },
}

impl From<Failure> for Missing {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

fn source<H: Http>(
    document: Option<&Document>,
    settings: &Settings,
    config: &Config,
    http: &mut H,
) -> Result<Found, Missing> {
    let missing = || {
        Failure::new(
            "document-missing",
            "a GraphQL source needs the URL of its endpoint, or a schema in a file",
        )
    };
    let document = document.ok_or_else(missing)?;
    let content = document::read(&document.body);
    let known = settings.endpoint.clone().or_else(|| config.endpoint.clone());
    if let Content::Schema(draft, form) = content {
        return Ok(Found { draft, form: form.name().to_owned(), endpoint: known, notes: Vec::new() });
    }
    // A document with a fault is told; anything else at a URL may be what an
    // endpoint shows to those who ask it for a page.
    let url = document.url.as_deref().and_then(|url| address::endpoint(url).ok());
    let is_page = url.is_some() && !matches!(content, Content::Broken(_));
    match known.or(url).filter(|_| is_page) {
        Some(endpoint) => {
            let fetched = introspect::fetch(&endpoint, http).map_err(|failure| {
                if failure.code == introspect::SIGN_IN_NEEDED {
                    Missing::Locked { endpoint: endpoint.clone(), said: failure.message }
                } else {
                    Missing::Failed(failure)
                }
            });
            let (draft, notes) = fetched?;
            Ok(Found { draft, form: Form::Introspection.name().to_owned(), endpoint: Some(endpoint), notes })
        }
        None => {
            let (draft, form) = document::schema(content)?;
            Ok(Found { draft, form: form.name().to_owned(), endpoint: None, notes: Vec::new() })
        }
    }
}

/// What people are told of an endpoint that gave no schema to those that it
/// does not know.
fn locked(meta: Option<&str>, said: &str) -> String {
    let meta: Value = meta.and_then(|meta| serde_json::from_str(meta).ok()).unwrap_or_default();
    let said = line(said, 150);
    let file = "or add the schema as a file (SDL, or introspection JSON), with base_url as the endpoint";
    match meta.get("connection").and_then(Value::as_str) {
        Some(connection) => {
            format!(
                "the endpoint did not show its schema to the connection {connection:?} ({said}): try another credential, {file}"
            )
        }
        None => format!(
            "the endpoint shows its schema to those with a credential alone ({said}): its tools come with a connection; {file}"
        ),
    }
}

/// A source that has no tools yet, and can be signed in to.
fn locked_summary(endpoint: String) -> Summary {
    let origins: Vec<String> = address::origin(&endpoint).into_iter().collect();
    let meta = json!({"origins": origins, "sign_in": true, "transport": "http"});
    let title = Some(address::title(&endpoint));
    Summary {
        title,
        version: None,
        base_url: Some(endpoint),
        raw_document: true,
        meta: Some(meta.to_string()),
    }
}

/// Keeps the table that selections are checked against. All tools share it.
fn keep_table<H: Http>(
    schema: &Schema,
    http: &mut H,
    report: &mut Report,
    sink: &mut dyn Sink,
) -> Result<Option<String>, Failure> {
    let table = select::write(schema);
    if table.len() > MAX_TABLE_BYTES {
        let message = format!(
            "the schema is too large for `select` ({} bytes of table): default selections are sent",
            table.len()
        );
        report.warn(sink, None, "too-many-operations", &message);
        return Ok(None);
    }
    let mut file = http.create_file(Some("schema.table"), Some("text/plain"))?;
    file.append(table.as_bytes())?;
    Ok(Some(file.finish().reference))
}

fn summary(
    schema: &Schema,
    form: &str,
    endpoint: Option<String>,
    tools: usize,
    document: Option<&Document>,
) -> Summary {
    let described = line(schema.description.lines().next().unwrap_or_default(), 100);
    let place = endpoint.as_deref().or_else(|| document?.url.as_deref()).and_then(address::host);
    let title = match (described.is_empty(), place) {
        (false, _) => Some(described),
        (true, Some(host)) => Some(format!("GraphQL API of {host}")),
        (true, None) => None,
    };
    let origins: Vec<String> = endpoint.as_deref().and_then(address::origin).into_iter().collect();
    let meta = json!({
        "origins": origins, "form": form, "operations": tools, "types": schema.types.len(), "transport": "http",
    });
    Summary { title, version: None, base_url: endpoint, raw_document: true, meta: Some(meta.to_string()) }
}

struct Run<'r, 's> {
    schema: &'s Schema,
    definitions: Definitions<'s>,
    report: Report,
    sink: &'r mut dyn Sink,
}

impl<'s> Run<'_, 's> {
    fn root(&self, operation: Operation) -> &'s [Field] {
        let name = match operation {
            Operation::Query => &self.schema.query,
            Operation::Mutation => &self.schema.mutation,
        };
        name.as_ref().and_then(|name| self.schema.get(name)).map_or(&[][..], |ty| ty.fields.as_slice())
    }

    fn warn_of_subscriptions(&mut self) {
        let Some(root) = self.schema.subscription.as_ref().and_then(|name| self.schema.get(name)) else {
            return;
        };
        let names: Vec<&str> = root.fields.iter().map(|field| field.name.as_str()).take(20).collect();
        if !names.is_empty() {
            let more = if root.fields.len() > names.len() { ", …" } else { "" };
            let left_out = match root.fields.len() {
                1 => "a subscription is left out".to_owned(),
                count => format!("{count} subscriptions are left out"),
            };
            let message = format!("{left_out}, since a call has one answer: {}{more}", names.join(", "));
            self.report.warn(self.sink, None, "subscriptions-unsupported", &message);
        }
    }

    fn tools(&mut self, common: &Common<'_>) -> Result<usize, Failure> {
        let total = self.root(Operation::Query).len() + self.root(Operation::Mutation).len();
        let (mut done, mut taken, mut bytes) = (0_u64, 0, 0);
        let mut batch: Vec<Tool> = Vec::new();
        for operation in [Operation::Query, Operation::Mutation] {
            let fields = self.root(operation);
            let own: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let names = names::assign(operation.word(), &own);
            for (field, name) in fields.iter().zip(&names).take(MAX_TOOLS) {
                done += 1;
                let Some(tool) = self.tool(common, operation, field, name) else { continue };
                bytes += size_of(&tool);
                batch.push(tool);
                if batch.len() == MAX_BATCH_TOOLS || bytes >= MAX_BATCH_BYTES {
                    taken += self.put(std::mem::take(&mut batch))?;
                    bytes = 0;
                    self.definitions()?;
                    self.sink.progress(done, Some(total as u64), "tools");
                }
            }
            if fields.len() > MAX_TOOLS {
                let message = format!(
                    "the schema has {} fields more than the {MAX_TOOLS} of a root that are read",
                    fields.len() - MAX_TOOLS
                );
                self.report.warn(self.sink, None, "too-many-operations", &message);
            }
        }
        if !batch.is_empty() {
            taken += self.put(batch)?;
        }
        self.sink.progress(done, Some(total as u64), "tools");
        Ok(taken)
    }

    fn tool(&mut self, common: &Common<'_>, operation: Operation, field: &Field, name: &str) -> Option<Tool> {
        match tool::build(common, &mut self.definitions, operation, field, name) {
            Ok(tool) => Some(tool),
            Err(why) => {
                let message = format!("{} {} is left out: {why}", operation.word(), field.name);
                self.report.warn(self.sink, Some(name), "operation-unsupported", &message);
                None
            }
        }
    }

    /// Writes what is waiting; writing may find more that is referred to.
    fn definitions(&mut self) -> Result<(), Failure> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some((name, schema, fault)) = self.definitions.take_next() {
            if let Some(fault) = fault {
                self.report.warn(self.sink, None, "operation-incomplete", &fault);
            }
            bytes += name.len() + schema.len();
            batch.push((name, schema));
            if batch.len() == MAX_BATCH_TOOLS || bytes >= MAX_BATCH_BYTES {
                self.sink.put_definitions(std::mem::take(&mut batch))?;
                bytes = 0;
            }
        }
        if batch.is_empty() { Ok(()) } else { self.sink.put_definitions(batch) }
    }

    fn put(&mut self, batch: Vec<Tool>) -> Result<usize, Failure> {
        let names: Vec<String> = batch.iter().map(|tool| tool.name.clone()).collect();
        let refused = self.sink.put_tools(batch)?;
        for (index, why) in &refused {
            let name = names.get(*index as usize).map(String::as_str);
            let message = format!("the host did not take the tool: {why}");
            self.report.warn(self.sink, name, "tool-refused", &message);
        }
        Ok(names.len().saturating_sub(refused.len()))
    }
}

fn size_of(tool: &Tool) -> usize {
    tool.description.len()
        + tool.input_schema.len()
        + tool.output_schema.as_ref().map_or(0, String::len)
        + tool.binding.len()
        + tool.meta.as_ref().map_or(0, String::len)
}
