//! A local MCP server of the revision 2025-06-18, which asks its client's user
//! in the middle of a call.
//!
//! `ask` asks and answers with what was said; `book` does the same and says of
//! itself that it changes something.

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};

const REVISION: &str = "2025-06-18";

fn main() -> ExitCode {
    let mut server = Server::default();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str(&line) else {
            eprintln!("mcp-emulator: {} bytes are no message", line.len());
            continue;
        };
        if let Err(error) = server.hear(&message) {
            eprintln!("mcp-emulator: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

#[derive(Default)]
struct Server {
    /// Whether the client said that it can ask its user.
    can_ask: bool,
    asked: u64,
    /// The call that each question is asked for, with its arguments.
    open: HashMap<String, (Value, Value)>,
}

impl Server {
    fn hear(&mut self, message: &Value) -> std::io::Result<()> {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => {
                self.can_ask = message["params"]["capabilities"]["elicitation"].is_object();
                let info = json!({ "name": "mcp-emulator", "version": "1" });
                let result = json!({ "protocolVersion": REVISION, "capabilities": { "tools": {} }, "serverInfo": info });
                answer(id, &result)
            }
            Some("ping") => answer(id, &json!({})),
            Some("tools/list") => answer(id, &json!({ "tools": [tool("ask", true), tool("book", false)] })),
            Some("tools/call") if self.can_ask => self.ask(id, &message["params"]["arguments"]),
            Some("tools/call") => answer(id, &text("nobody can be asked", true)),
            Some(_) if id.is_null() => Ok(()),
            Some(method) => {
                let error = json!({ "code": -32601, "message": format!("there is no {method}") });
                write(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
            }
            None => self.answered(id, message),
        }
    }

    fn ask(&mut self, call: &Value, arguments: &Value) -> std::io::Result<()> {
        self.asked += 1;
        let id = format!("question-{}", self.asked);
        self.open.insert(id.clone(), (call.clone(), arguments.clone()));
        let schema = json!({
            "type": "object",
            "properties": { "seats": { "type": "integer", "minimum": 1 } },
            "required": ["seats"],
        });
        let message = format!("How many seats for {}?", arguments["name"].as_str().unwrap_or("you"));
        let params = json!({ "message": message, "requestedSchema": schema });
        write(&json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params }))
    }

    fn answered(&mut self, id: &Value, message: &Value) -> std::io::Result<()> {
        let Some((call, arguments)) = id.as_str().and_then(|id| self.open.remove(id)) else { return Ok(()) };
        let said = json!({ "name": arguments["name"], "said": message["result"] });
        answer(&call, &text(&said.to_string(), false))
    }
}

fn tool(name: &str, read_only: bool) -> Value {
    json!({
        "name": name,
        "description": "Asks how many seats, and says what was answered.",
        "inputSchema": {
            "type": "object",
            "properties": { "name": { "type": "string" } },
        },
        "annotations": { "readOnlyHint": read_only },
    })
}

fn text(text: &str, is_error: bool) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}

fn answer(id: &Value, result: &Value) -> std::io::Result<()> {
    write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn write(message: &Value) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{message}")?;
    stdout.flush()
}
