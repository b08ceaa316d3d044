//! The smallest MCP client: streamable HTTP, revision 2025-06-18.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::client::{Client, Response, beginning};

const PATH: &str = "/mcp";
const REVISION: &str = "2025-06-18";

/// A session.
pub(crate) struct Mcp {
    client: Client,
    headers: String,
}

impl Mcp {
    /// Shakes hands.
    pub(crate) fn start(client: Client) -> Result<Self> {
        let headers = "accept: application/json, text/event-stream\r\n".to_owned();
        let mut session = Self { client, headers };
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": REVISION, "capabilities": {},
                "clientInfo": { "name": "executor-bench", "version": env!("CARGO_PKG_VERSION") },
            },
        });
        let response = session.send(&hello.to_string())?;
        if matches!(response.status, 404 | 405) {
            bail!("not there: POST {PATH} answers {}", response.status);
        }
        ensure!(response.status == 200, "initialize: {}: {}", response.status, beginning(&response.body));
        message(&response)?;
        if let Some(id) = response.header("mcp-session-id") {
            session.headers.push_str(&format!("mcp-session-id: {id}\r\n"));
        }
        session.headers.push_str(&format!("mcp-protocol-version: {REVISION}\r\n"));
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let response = session.send(&ready.to_string())?;
        ensure!(matches!(response.status, 200..300), "notifications/initialized: {}", response.status);
        Ok(session)
    }

    /// `tools/call execute`; how long it took.
    pub(crate) fn execute(&mut self, number: usize, code: &str) -> Result<Duration> {
        let request = json!({
            "jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": { "name": "execute", "arguments": { "code": code } },
        });
        let request = request.to_string();
        let begun = Instant::now();
        let response = self.send(&request)?;
        let took = begun.elapsed();
        let answer = message(&response)?;
        let status = answer.pointer("/result/structuredContent/status");
        ensure!(status.is_some_and(|status| status == "completed"), "{}", beginning(&response.body));
        Ok(took)
    }

    fn send(&mut self, body: &str) -> Result<Response> {
        self.client.send("POST", PATH, &self.headers, body)
    }
}

/// The message of a response, JSON or the one event of a stream.
fn message(response: &Response) -> Result<Value> {
    let text = match response.header("content-type") {
        Some(kind) if kind.starts_with("text/event-stream") => {
            let data = response.body.lines().filter_map(|line| line.strip_prefix("data:"));
            data.map(str::trim).rfind(|data| !data.is_empty()).context("a stream without an event")?
        }
        _ => &response.body,
    };
    let message: Value = serde_json::from_str(text).with_context(|| beginning(text).to_owned())?;
    ensure!(message.get("error").is_none(), "{}", beginning(text));
    Ok(message)
}
