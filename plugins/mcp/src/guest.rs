//! The component: the interfaces of `executor:adapter` over [`crate::source`].

wit_bindgen::generate!({
    path: [
        "wit/wasi-io",
        "wit/wasi-clocks",
        "wit/wasi-random",
        "../../wit/adapter",
        "wit/world",
    ],
    world: "executor:mcp/mcp",
    generate_all,
});

use executor::adapter::{blobs, catalog_sink, http, interaction, session, source_events, stdio, types};
use exports::executor::adapter::{source as exported, watch};
use wasi::clocks::{monotonic_clock, wall_clock};
use wasi::random::random;

use crate::seam;

/// What one append may carry.
const BLOB_PIECE: usize = 4 << 20;

struct Component;

export!(Component);

impl exported::Guest for Component {
    fn describe() -> exported::Info {
        let info = crate::source::describe();
        exported::Info { kind: info.kind, title: info.title, config_schema: info.config_schema, meta: None }
    }

    fn detect(probe: exported::Probe) -> Result<Option<exported::Detection>, types::Failure> {
        let probe = seam::Probe {
            url: probe.url,
            status: probe.status,
            headers: probe.headers,
            document: document(probe.document),
        };
        Ok(crate::source::detect(&probe, &Host).map(|found| exported::Detection {
            confidence: found.confidence,
            config: found.config,
            suggested_name: found.suggested_name,
            warnings: found.warnings,
            meta: found.meta,
        }))
    }

    fn index(request: exported::IndexRequest) -> Result<exported::Summary, types::Failure> {
        let request = seam::IndexRequest {
            config: request.config,
            settings: request.settings,
            document: request.document.map(document),
            meta: request.meta,
        };
        let summary = crate::source::index(&request, &mut Catalog, &Host)?;
        Ok(exported::Summary {
            title: summary.title,
            version: summary.version,
            base_url: summary.base_url,
            raw_document: false,
            meta: summary.meta,
        })
    }

    fn validate(call: exported::Call) -> Result<(), types::Failure> {
        Ok(crate::source::validate(&plain_call(call))?)
    }

    fn invoke(call: exported::Call) -> Result<exported::Outcome, types::Failure> {
        Ok(match crate::source::invoke(&plain_call(call), &Host)? {
            seam::Outcome::Done(answer) => exported::Outcome::Done(exported::Response {
                data: answer.data,
                is_error: answer.is_error,
                metadata: answer.metadata,
            }),
            seam::Outcome::Paused(pause) => exported::Outcome::Paused(exported::Pause {
                state: pause.state,
                questions: pause.questions.into_iter().map(question).collect(),
            }),
        })
    }
}

impl watch::Guest for Component {
    fn run(subject: watch::Subject) -> Result<(), types::Failure> {
        Ok(crate::source::run(&subject.config, &subject.settings, &Host)?)
    }
}

fn document(document: exported::Document) -> seam::Document {
    seam::Document { url: document.url, media_type: document.media_type, body: document.body }
}

fn plain_call(call: exported::Call) -> seam::Call {
    let resume = call.resume.map(|resume| seam::Resumption {
        state: resume.state,
        answers: resume.answers.into_iter().map(reply).collect(),
    });
    seam::Call { tool: call.tool, binding: call.binding, arguments: call.arguments, resume, meta: call.meta }
}

fn reply(answer: interaction::Answer) -> seam::Reply {
    match answer {
        interaction::Answer::Accepted(data) => seam::Reply::Accepted(data),
        interaction::Answer::Declined => seam::Reply::Declined,
        interaction::Answer::Cancelled => seam::Reply::Cancelled,
    }
}

fn question(question: seam::Question) -> interaction::Request {
    interaction::Request {
        kind: question.kind,
        message: question.message,
        schema: question.schema,
        url: question.url,
        meta: None,
    }
}

impl From<seam::Failure> for types::Failure {
    fn from(failure: seam::Failure) -> Self {
        let seam::Failure { code, message, status, retryable, retry_after_ms, details } = failure;
        Self { code, message, status, retryable, retry_after_ms, details }
    }
}

impl From<types::Failure> for seam::Failure {
    fn from(failure: types::Failure) -> Self {
        let types::Failure { code, message, status, retryable, retry_after_ms, details } = failure;
        Self { code, message, status, retryable, retry_after_ms, details }
    }
}

struct Catalog;

impl seam::Sink for Catalog {
    fn put_tools(&mut self, batch: Vec<seam::Tool>) -> Result<Vec<(u32, String)>, seam::Failure> {
        let batch: Vec<types::Tool> = batch.into_iter().map(tool).collect();
        Ok(catalog_sink::put_tools(&batch)?)
    }

    fn put_auth_methods(&mut self, methods: Vec<seam::AuthMethod>) -> Result<(), seam::Failure> {
        let methods: Vec<types::AuthMethod> = methods
            .into_iter()
            .map(|method| types::AuthMethod {
                id: method.id,
                kind: method.kind,
                label: method.label,
                config: method.config,
                meta: None,
            })
            .collect();
        Ok(catalog_sink::put_auth_methods(&methods)?)
    }

    fn warn(&mut self, warning: seam::Warning) {
        catalog_sink::warn(&types::Warning {
            tool: warning.tool,
            code: warning.code,
            message: warning.message,
        });
    }

    fn progress(&mut self, done: u64, total: Option<u64>, what: &str) {
        catalog_sink::progress(done, total, what);
    }
}

fn tool(tool: seam::Tool) -> types::Tool {
    let annotations = tool.annotations;
    types::Tool {
        name: tool.name,
        description: tool.description,
        input_schema: tool.input_schema,
        output_schema: tool.output_schema,
        annotations: types::Annotations {
            title: annotations.title,
            read_only: annotations.read_only,
            destructive: annotations.destructive,
            idempotent: annotations.idempotent,
            deprecated: false,
            requires_approval: !annotations.read_only,
            meta: annotations.meta,
        },
        auth: tool.auth,
        binding: tool.binding,
        meta: tool.meta,
    }
}

fn wire_request(request: seam::HttpRequest) -> http::Request {
    let body = if request.body.is_empty() { Vec::new() } else { vec![http::Chunk::Bytes(request.body)] };
    let headers = request.headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
    http::Request { method: request.method, url: request.url, headers, body, auth: None }
}

struct Host;

impl seam::World for Host {
    fn send(
        &self,
        request: seam::HttpRequest,
        within_ms: u32,
    ) -> Result<Option<Box<dyn seam::HttpResponse>>, seam::Failure> {
        let exchange = http::Exchange::start(wire_request(request))?;
        let response = exchange.wait(within_ms)?;
        Ok(response.map(|response| Box::new(response) as Box<dyn seam::HttpResponse>))
    }

    fn farewell(&self, request: Option<seam::HttpRequest>) -> Result<(), seam::Failure> {
        Ok(http::farewell(request.map(wire_request))?)
    }

    fn keep(&self, media_type: Option<&str>, bytes: &[u8]) -> Result<String, seam::Failure> {
        let blob = blobs::Blob::create(None, media_type)?;
        for piece in bytes.chunks(BLOB_PIECE) {
            blob.append(piece)?;
        }
        Ok(blob.reference())
    }

    fn attach(&self) -> Result<Box<dyn seam::Process>, seam::Failure> {
        Ok(Box::new(stdio::Process::attach()?))
    }

    fn recall(&self, key: &str) -> Option<Vec<u8>> {
        session::get(key)
    }

    fn swap(&self, key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> bool {
        session::swap(key, expected, value)
    }

    fn ask(&self, asked: seam::Question) -> Result<seam::Reply, seam::Failure> {
        Ok(reply(interaction::ask(&question(asked))?))
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        interaction::progress(done, total, message);
    }

    fn changed(&self, what: &str) {
        source_events::changed(what);
    }

    fn now_ms(&self) -> u64 {
        let now = wall_clock::now();
        now.seconds * 1_000 + u64::from(now.nanoseconds / 1_000_000)
    }

    fn ticks_ms(&self) -> u64 {
        monotonic_clock::now() / 1_000_000
    }

    fn sleep_ms(&self, ms: u64) {
        monotonic_clock::subscribe_duration(ms.saturating_mul(1_000_000)).block();
    }

    fn random(&self) -> u64 {
        random::get_random_u64()
    }
}

impl seam::HttpResponse for http::Response {
    fn status(&self) -> u16 {
        http::Response::status(self)
    }

    fn headers(&self) -> Vec<(String, Vec<u8>)> {
        http::Response::headers(self)
    }

    fn read(&mut self, len: u32, timeout_ms: u32) -> Result<Option<Vec<u8>>, seam::Failure> {
        Ok(http::Response::read(self, len, timeout_ms)?)
    }
}

impl seam::Process for stdio::Process {
    fn write_line(&mut self, line: &str) -> Result<(), seam::Failure> {
        Ok(stdio::Process::write_line(self, line)?)
    }

    fn farewell(&mut self, line: Option<&str>) -> Result<(), seam::Failure> {
        Ok(stdio::Process::farewell(self, line)?)
    }

    fn read_line(&mut self, timeout_ms: u32) -> Result<Option<String>, seam::Failure> {
        Ok(stdio::Process::read_line(self, timeout_ms)?)
    }

    fn claim(&mut self, key: &str) -> bool {
        stdio::Process::claim(self, key)
    }

    fn generation(&self) -> u64 {
        stdio::Process::generation(self)
    }
}
