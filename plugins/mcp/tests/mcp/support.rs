//! What servers say, what a source becomes, and calls.

use executor_mcp::seam::{
    Answer, AuthMethod, Call, Document, Failure, IndexRequest, Outcome, Reply, Resumption, Sink, Summary,
    Tool, Warning,
};
use executor_mcp::source;
use serde_json::{Value, json};

use crate::host::Host;

pub(crate) const URL: &str = "https://api.example/mcp";
pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// A request that reached a server.
#[derive(Debug, Clone)]
pub(crate) struct Posted {
    pub(crate) verb: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Posted {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or(if self.verb == "GET" { "GET" } else { "" })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }

    /// The answer to it.
    pub(crate) fn result(&self, result: Value) -> Said {
        Said::json(200, &json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result}))
    }

    /// Its refusal.
    pub(crate) fn error(&self, status: u16, code: i64, message: &str) -> Said {
        let error = json!({"code": code, "message": message});
        Said::json(status, &json!({"jsonrpc": "2.0", "id": self.body["id"], "error": error}))
    }

    /// An event with the answer.
    pub(crate) fn event(&self, result: Value) -> Piece {
        event(&json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result}))
    }
}

/// An event with a message.
pub(crate) fn event(message: &Value) -> Piece {
    Piece::Text(format!("event: message\ndata: {message}\n\n"))
}

/// A part of a body.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Text(String),
    /// So many milliseconds of nothing.
    Silence(u64),
    /// The connection breaks.
    Broken,
    /// It never ends.
    Forever(String),
}

/// What a server says to a request.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    Http {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<Piece>,
    },
    /// The host's own failure.
    Failed(Failure),
    /// Nothing.
    Hangs,
}

impl Said {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::text(status, "application/json", &body.to_string())
    }

    pub(crate) fn text(status: u16, media_type: &str, body: &str) -> Self {
        let headers = vec![("content-type".to_owned(), media_type.to_owned())];
        let body = if body.is_empty() { Vec::new() } else { vec![Piece::Text(body.to_owned())] };
        Self::Http { status, headers, body }
    }

    pub(crate) fn events(body: Vec<Piece>) -> Self {
        let headers = vec![("content-type".to_owned(), "text/event-stream; charset=utf-8".to_owned())];
        Self::Http { status: 200, headers, body }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        if let Self::Http { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub(crate) fn accepted() -> Self {
        Self::Http { status: 202, headers: Vec::new(), body: Vec::new() }
    }
}

/// What a source became.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<Tool>,
    pub(crate) methods: Vec<AuthMethod>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) summary: Option<Summary>,
    /// Tools whose input schema has this in it are refused.
    pub(crate) refuses: Option<&'static str>,
}

impl Sink for Catalog {
    fn put_tools(&mut self, batch: Vec<Tool>) -> Result<Vec<(u32, String)>, Failure> {
        let mut refused = Vec::new();
        for (at, tool) in batch.into_iter().enumerate() {
            if self.refuses.is_some_and(|part| tool.input_schema.contains(part)) {
                refused.push((u32::try_from(at).unwrap(), "its schema is odd".to_owned()));
                continue;
            }
            assert!(self.tools.iter().all(|held| held.name != tool.name), "{} twice", tool.name);
            assert!(tool.name.chars().count() <= 128, "{}", tool.name);
            self.tools.push(tool);
        }
        Ok(refused)
    }

    fn put_auth_methods(&mut self, methods: Vec<AuthMethod>) -> Result<(), Failure> {
        self.methods = methods;
        Ok(())
    }

    fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    fn progress(&mut self, _done: u64, _total: Option<u64>, _what: &str) {}
}

impl Catalog {
    pub(crate) fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    pub(crate) fn tool(&self, name: &str) -> &Tool {
        self.tools
            .iter()
            .find(|tool| tool.name == name)
            .unwrap_or_else(|| panic!("no {name} among {:?}", self.names()))
    }

    pub(crate) fn codes(&self) -> Vec<&str> {
        self.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }

    pub(crate) fn meta(&self) -> Value {
        serde_json::from_str(self.summary.as_ref().unwrap().meta.as_deref().unwrap()).unwrap()
    }
}

pub(crate) fn config(url: &str) -> String {
    json!({"transport": "http", "url": url}).to_string()
}

pub(crate) const STDIO: &str = r#"{"transport":"stdio"}"#;

pub(crate) fn try_index(host: &Host, config: &str, meta: Option<&str>) -> Result<Catalog, Failure> {
    index_into(Catalog::default(), host, config, meta)
}

pub(crate) fn index_into(
    mut catalog: Catalog,
    host: &Host,
    config: &str,
    meta: Option<&str>,
) -> Result<Catalog, Failure> {
    let request = IndexRequest {
        config: config.to_owned(),
        settings: "{}".to_owned(),
        document: None::<Document>,
        meta: meta.map(str::to_owned),
    };
    catalog.summary = Some(source::index(&request, &mut catalog, host)?);
    Ok(catalog)
}

pub(crate) fn index(host: &Host) -> Catalog {
    try_index(host, &config(URL), None).unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// A binding as an index writes it.
pub(crate) fn binding(config: &str, what: &Value, repeatable: bool) -> Vec<u8> {
    let mut binding =
        json!({"endpoint": serde_json::from_str::<Value>(config).unwrap(), "repeatable": repeatable});
    for (name, value) in what.as_object().unwrap() {
        binding[name] = value.clone();
    }
    binding.to_string().into_bytes()
}

/// A call of the tool `add`.
pub(crate) fn call(config: &str, arguments: &Value) -> Call {
    Call {
        tool: "add".to_owned(),
        binding: binding(config, &json!({"what": "tool", "name": "add"}), false),
        arguments: arguments.to_string(),
        ..Call::default()
    }
}

/// The same, of a tool that may be called twice.
pub(crate) fn repeatable(config: &str) -> Call {
    Call {
        binding: binding(config, &json!({"what": "tool", "name": "add"}), true),
        ..call(config, &json!({}))
    }
}

pub(crate) fn resumed(call: &Call, state: &[u8], answers: &[Reply]) -> Call {
    Call { resume: Some(Resumption { state: state.to_vec(), answers: answers.to_vec() }), ..call.clone() }
}

pub(crate) fn done(outcome: Result<Outcome, Failure>) -> Answer {
    match outcome {
        Ok(Outcome::Done(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn data(outcome: Result<Outcome, Failure>) -> Value {
    serde_json::from_str(&done(outcome).data).unwrap()
}

pub(crate) fn invoke(host: &Host, call: &Call) -> Result<Outcome, Failure> {
    source::invoke(call, host)
}

/// A text as a tool's result.
pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A modern server with these answers to what is asked.
pub(crate) fn modern(mut answers: impl FnMut(&Posted) -> Said + Send + 'static) -> Host {
    Host::serving(move |posted| match posted.method() {
        "server/discover" => posted.result(json!({
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "calc-mcp-server", "title": "Calculator", "version": "1.2"},
        })),
        _ => answers(posted),
    })
}

/// What an older server says to `initialize`.
pub(crate) fn initialized(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "old", "version": "0.1"},
    })
}

/// What a session keeps of a server, and under which key.
pub(crate) fn agreed(host: &Host) -> (String, Value) {
    host.session().into_iter().find(|(key, _)| key.starts_with("peer:")).unwrap()
}

/// What the first call of a session waits where nobody listens beside it.
pub(crate) const UNHEARD_MS: u64 = 1_000;

/// An older server with a session, and these answers to what is asked.
pub(crate) fn legacy(mut answers: impl FnMut(&Posted) -> Said + Send + 'static) -> Host {
    let mut sessions = 0;
    Host::serving(move |posted| match posted.method() {
        "server/discover" => posted.error(400, -32_000, "Bad Request: Server not initialized"),
        "initialize" => {
            sessions += 1;
            posted.result(initialized(LEGACY)).with("Mcp-Session-Id", &format!("s{sessions}"))
        }
        "notifications/initialized" => Said::accepted(),
        _ => answers(posted),
    })
}
