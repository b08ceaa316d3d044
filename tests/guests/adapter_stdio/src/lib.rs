//! A source adapter whose API is a local program: one JSON object a line, in
//! and out. `{"id", "do", …}` asks, `{"id", …}` answers, and `{"changed"}`
//! tells that the program's tools are others now.
//!
//! | export | here |
//! |---|---|
//! | `index` | makes a tool of each name that the program answers to `tools` |
//! | `invoke` | sends the arguments, and waits for the answer of that id |
//! | `watch` | hands on each `changed` |
//!
//! `act` is a tool of its own: what an adapter should not do to a program, by
//! name.

mod acts;
mod server;

wit_bindgen::generate!({
    path: "../../../wit/adapter",
    world: "watching-source-adapter",
});

use executor::adapter::catalog_sink;
use executor::adapter::source_events;
use executor::adapter::types::{Annotations, Failure, Tool};
use exports::executor::adapter::source::{
    Call, Detection, Guest, IndexRequest, Info, Outcome, Probe, Response, Summary,
};
use exports::executor::adapter::watch::{self, Subject};
use serde_json::{Value, json};

use server::Server;

struct Lines;

export!(Lines);

/// How long an answer may take where the source's settings say nothing.
const PATIENCE_MS: u64 = 20_000;

impl Guest for Lines {
    fn describe() -> Info {
        Info {
            kind: "lines".to_owned(),
            title: "A program that answers lines".to_owned(),
            config_schema: json!({ "type": "object" }).to_string(),
            meta: None,
        }
    }

    fn detect(_: Probe) -> Result<Option<Detection>, Failure> {
        Ok(None)
    }

    fn index(request: IndexRequest) -> Result<Summary, Failure> {
        let config = object(&request.config)?;
        if config["transport"] != "stdio" {
            return Err(failure("settings-invalid", format!("a program is spoken to by lines: {config}")));
        }
        let answer = Server::attach()?.ask(&json!({ "do": "tools" }), patience(&request.settings)?)?;
        let names = answer["tools"].as_array().cloned().unwrap_or_default();
        let mut tools: Vec<Tool> =
            names.iter().filter_map(Value::as_str).map(|name| tool(name, true)).collect();
        tools.push(tool("act", false));
        catalog_sink::put_tools(&tools)?;
        Ok(Summary {
            title: answer["title"].as_str().map(str::to_owned),
            version: None,
            base_url: None,
            raw_document: false,
            meta: None,
        })
    }

    fn validate(_: Call) -> Result<(), Failure> {
        Ok(())
    }

    fn invoke(call: Call) -> Result<Outcome, Failure> {
        let mut arguments = object(&call.arguments)?;
        let data = if call.tool == "act" {
            acts::act(&arguments)?
        } else {
            arguments["do"] = json!(call.tool);
            let server = Server::attach()?;
            let mut answer = server.ask(&arguments, patience(&call.settings)?)?;
            answer["generation"] = json!(server.generation().to_string());
            answer
        };
        Ok(Outcome::Done(Response { data: data.to_string(), is_error: false, metadata: None }))
    }
}

impl watch::Guest for Lines {
    fn run(subject: Subject) -> Result<(), Failure> {
        let settings = object(&subject.settings)?;
        if let Some(behaviour) = settings["watch"].as_str() {
            return acts::watch(behaviour);
        }
        let server = Server::attach()?;
        loop {
            if let Some(what) = server.next(60_000)?.as_ref().and_then(|line| line["changed"].as_str()) {
                source_events::changed(what);
            }
        }
    }
}

/// A tool that says of itself that it only reads, or not.
fn tool(name: &str, read_only: bool) -> Tool {
    Tool {
        name: name.to_owned(),
        description: format!("Asks the program to do {name}."),
        input_schema: json!({ "type": "object" }).to_string(),
        output_schema: None,
        annotations: Annotations {
            title: None,
            read_only,
            destructive: false,
            idempotent: read_only,
            deprecated: false,
            requires_approval: false,
            meta: None,
        },
        auth: Vec::new(),
        binding: Vec::new(),
        meta: None,
    }
}

fn patience(settings: &str) -> Result<u64, Failure> {
    Ok(object(settings)?["patience_ms"].as_u64().unwrap_or(PATIENCE_MS))
}

fn object(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| failure("invalid-arguments", format!("this is no JSON: {error}")))
}

/// A failure that trying again would not mend.
fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure {
        code: code.to_owned(),
        message: message.into(),
        status: None,
        retryable: false,
        retry_after_ms: None,
        details: None,
    }
}
