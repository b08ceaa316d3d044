//! Tools of an MCP server, called through executor and directly, and a server
//! with very many of them.

use anyhow::Result;
use executor_upstreams::ledger::Keep;
use executor_upstreams::plain::{self, Answer, Config, Request};
use serde_json::{Value, json};

use crate::Context;
use crate::calling::host;
use crate::client::Client;
use crate::executing::programs;
use crate::figures::{Row, reach};
use crate::rounds::{action, alternate, timed};

const DIRECT: &str = "an MCP server's tool, called directly";
const CALL: &str = "the same through executor, from TypeScript";
const OVERHEAD: &str = "the same, less the direct call's";
const LIST: &str = "an MCP server's 1,000 tools to callable";

const TOOLS: usize = 1_000;

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    if !context.figures.begins("mcp-sources", &[DIRECT, CALL, OVERHEAD, LIST]) {
        return Ok(());
    }
    let config = Config { port: 0, keep: Keep::Count };
    let upstream = context.handle.block_on(plain::start_with(config, answer))?;
    let home = context.homes.ours()?;
    let (daemon, _) = context.homes.start(&home)?;
    let mut client = daemon.client()?;
    let policy = json!({ "pattern": "s.*", "action": "allow" });
    client.post("/v1/workspaces/default/policies", &policy.to_string())?;
    let request = json!({ "url": format!("{}/mcp", upstream.origin()), "name": "s",
        "allow_hosts": [host(upstream.origin())], "trusted": true });
    let (took, _) = timed(|| client.post("/v1/workspaces/default/sources", &request.to_string()))?;
    let row = Row::new(LIST, "ms", crate::figures::Measured::from(took.as_secs_f64() * 1e3));
    context.figures.add(row.more("once; listed in pages of 100"));

    let mut direct = Client::new(host(upstream.origin()), None)?;
    let [ours, plain] = alternate(
        context.options.plan(300, 1.0),
        [
            action(programs(&daemon, |n| format!("return await tools.s.tool_{}({{ n: {n} }})", n % TOOLS))?),
            action(|number| {
                let request = json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call",
                    "params": { "name": format!("tool_{}", number % TOOLS), "arguments": { "n": number } } });
                Ok(timed(|| direct.post("/mcp", &request.to_string()))?.0)
            }),
        ],
    );
    let floor = plain.as_ref().map_or(0.0, |plain| plain.at_ms(0.5));
    let less = ours.as_ref().map(|ours| ours.at_ms(0.5) - floor).ok();
    context.figures.add(Row::new(DIRECT, "ms", plain));
    context.figures.add(Row::new(CALL, "ms", ours).more("each program new"));
    if let Some(less) = less {
        context
            .figures
            .add(Row::new(OVERHEAD, "ms", crate::figures::Measured::from(less)).reach(reach(0.30)));
    }
    Ok(())
}

/// A server of the revision 2026-07-28, as far as calls need it.
fn answer(request: &Request<'_>) -> Answer {
    let asked: Value = serde_json::from_slice(request.body).unwrap_or_default();
    let result = match asked["method"].as_str() {
        Some("server/discover") => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 3_600_000,
            "cacheScope": "public", "capabilities": { "tools": {} },
            "serverInfo": { "name": "bench", "version": "1" },
        }),
        Some("tools/list") => page(asked["params"]["cursor"].as_str()),
        Some("tools/call") => json!({
            "resultType": "complete", "content": [{ "type": "text", "text": "{\"ok\":true}" }],
            "structuredContent": { "ok": true }, "isError": false,
        }),
        _ => return Answer::new(405, &[], ""),
    };
    Answer::json(200, &json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }))
}

fn page(cursor: Option<&str>) -> Value {
    let first: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let tools: Vec<Value> = (first..(first + 100).min(TOOLS))
        .map(|number| {
            json!({
                "name": format!("tool_{number}"), "description": format!("Does the thing number {number}"),
                "inputSchema": { "type": "object", "properties": { "n": { "type": "integer" } } },
                "annotations": { "readOnlyHint": true },
            })
        })
        .collect();
    let mut page =
        json!({ "resultType": "complete", "tools": tools, "ttlMs": 3_600_000, "cacheScope": "public" });
    if first + 100 < TOOLS {
        page["nextCursor"] = json!((first + 100).to_string());
    }
    page
}
