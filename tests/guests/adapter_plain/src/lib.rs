//! The source adapter that one writes first: four tools, hardly a document.
//!
//! An adapter is a WebAssembly component of the world `source-adapter`. It
//! turns an API into tools (`index`) and calls into requests (`invoke`), and
//! holds neither a credential nor a socket: the host places the credentials
//! that a tool names into the requests that it sends through `http`.
//!
//! | export | here |
//! |---|---|
//! | `describe` | what this adapter is, and which config a source of it takes |
//! | `detect` | takes text that begins with `plain http`, and documents marked `x-plain` |
//! | `index` | puts `echo`, `fetch`, `write` and `ask` into the catalogue |
//! | `validate` | checks the arguments that only the adapter can check |
//! | `invoke` | runs one tool; nothing is kept from one call to the next |
//!
//! Build it with `cargo build --target wasm32-wasip2 -p adapter_plain`.

mod api;
mod ask;
mod tools;

wit_bindgen::generate!({
    path: "../../../wit/adapter",
    world: "source-adapter",
});

use executor::adapter::catalog_sink;
use executor::adapter::types::Failure;
use exports::executor::adapter::source::{
    Call, Detection, Guest, IndexRequest, Info, Outcome, Probe, Response, Summary,
};
use serde_json::{Value, json};

use tools::Tool;

/// How a text of its own begins.
const MARK: &[u8] = b"plain http";
/// What marks a document of another kind as its own.
const FIELD: &[u8] = b"\"x-plain\"";
/// Surer than those whose documents it takes: the surest gets a document.
const CONFIDENCE: u8 = 99;

struct Plain;

export!(Plain);

impl Guest for Plain {
    fn describe() -> Info {
        let config_schema = json!({
            "type": "object",
            "properties": {},
            "additionalProperties": false,
        });
        Info {
            kind: "plain".to_owned(),
            title: "Plain HTTP".to_owned(),
            config_schema: config_schema.to_string(),
            meta: None,
        }
    }

    fn detect(probe: Probe) -> Result<Option<Detection>, Failure> {
        let body = &probe.document.body;
        let is_ours = body.starts_with(MARK) || body.windows(FIELD.len()).any(|window| window == FIELD);
        Ok(is_ours.then(|| Detection {
            confidence: CONFIDENCE,
            config: "{}".to_owned(),
            suggested_name: "plain".to_owned(),
            warnings: vec!["it needs the setting base_url".to_owned()],
            // What people are told before there is a source.
            meta: Some(
                json!({
                    "title": "Plain HTTP",
                    "transport": "http",
                    "auth": [{ "kind": "http-bearer", "label": "API token" }],
                })
                .to_string(),
            ),
        }))
    }

    fn index(request: IndexRequest) -> Result<Summary, Failure> {
        catalog_sink::put_auth_methods(&[tools::token()])?;
        let catalogue: Vec<_> = Tool::ALL.into_iter().map(Tool::described).collect();
        // The host may refuse a tool and take the others; here all must be in.
        if let Some((index, why)) = catalog_sink::put_tools(&catalogue)?.into_iter().next() {
            return Err(failure("tool-refused", format!("tool {index}: {why}")));
        }
        Ok(Summary {
            title: Some("Plain HTTP".to_owned()),
            version: None,
            base_url: api::base_url(&request.settings).ok(),
            raw_document: false,
            meta: None,
        })
    }

    fn validate(call: Call) -> Result<(), Failure> {
        Tool::named(&call.tool)?.check(&arguments(&call)?)
    }

    fn invoke(call: Call) -> Result<Outcome, Failure> {
        let arguments = arguments(&call)?;
        let tool = Tool::named(&call.tool)?;
        tool.check(&arguments)?;
        let (data, is_error) = match tool {
            Tool::Echo => (arguments, false),
            Tool::Ask if arguments["meanwhile"].is_u64() => (ask::meanwhile(&arguments), false),
            Tool::Ask | Tool::AskWrite => match ask::go_on(&arguments, call.resume)? {
                ask::Step::Pause(pause) => return Ok(Outcome::Paused(pause)),
                ask::Step::Done(answers) => (answers, false),
            },
            Tool::Fetch | Tool::Write => {
                let answer = api::send(tool.method(), &call.settings, &arguments)?;
                let is_error = answer.status >= 400;
                let mut data = json!({ "status": answer.status, "body": answer.body });
                if arguments["meanwhile"].is_u64() {
                    data["answers"] = ask::meanwhile(&arguments);
                }
                (data, is_error)
            }
        };
        Ok(Outcome::Done(Response { data: data.to_string(), is_error, metadata: None }))
    }
}

fn arguments(call: &Call) -> Result<Value, Failure> {
    serde_json::from_str(&call.arguments)
        .map_err(|error| failure("invalid-arguments", format!("the arguments are not JSON: {error}")))
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
