//! A local MCP server that answers what a test asks it to, remembers what it
//! was told, and leaves a call of `wait` without an answer.
//!
//! | tool | answers |
//! |---|---|
//! | `wait` | never |
//! | `heard` | every message since it began: method, id, and of a cancellation the request |

use std::io::{BufRead as _, Write as _};

use clap::Parser;
use serde_json::{Value, json};

#[derive(Debug, Parser)]
#[command(name = "waiting-emulator")]
struct Arguments {
    /// Speak revision 2026-07-28; 2025-11-25 else.
    #[arg(long)]
    modern: bool,
}

fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let mut heard: Vec<Value> = Vec::new();
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        heard.push(json!({
            "method": message["method"], "id": message["id"], "tool": tool,
            "cancels": message["params"]["requestId"],
        }));
        let Some(outcome) = answer(&message, tool, arguments.modern, &heard) else { continue };
        let mut reply = json!({"jsonrpc": "2.0", "id": message["id"]});
        match outcome {
            Ok(result) => reply["result"] = result,
            Err(code) => reply["error"] = json!({"code": code, "message": "not here"}),
        }
        writeln!(stdout, "{reply}")?;
        stdout.flush()?;
    }
    Ok(())
}

/// A result or the code of an error; none: nothing is said.
fn answer(message: &Value, tool: &str, modern: bool, heard: &[Value]) -> Option<Result<Value, i64>> {
    let capabilities = json!({"tools": {"listChanged": true}});
    let info = json!({"name": "waiting-server", "version": "1"});
    Some(match message["method"].as_str()? {
        _ if message.get("id").is_none() => return None,
        "server/discover" if modern => {
            Ok(json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities, "serverInfo": info}))
        }
        "initialize" if !modern => {
            Ok(json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}))
        }
        "tools/list" => Ok(json!({"tools": [
            {"name": "wait", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
            {"name": "heard", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
        ]})),
        "tools/call" if tool == "heard" => Ok(json!({"structuredContent": {"messages": heard}})),
        "tools/call" if tool == "wait" => return None,
        // It stays open for as long as nobody cancels it.
        "subscriptions/listen" if modern => return None,
        _ => Err(-32_601),
    })
}
