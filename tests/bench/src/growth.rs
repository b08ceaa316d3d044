//! How cost grows with what is kept: the same calls at 1 ×, 10 × and 100 ×.
//!
//! The slope is the exponent of the growth between the first and the last
//! size: 0 where the size makes no difference, 1 where the cost grows with it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use executor_upstreams::plain::{self, Answer, Request};
use serde_json::{Value, json};

use crate::Context;
use crate::calling::host;
use crate::client::Client;
use crate::daemon::Daemon;
use crate::executing::flood;
use crate::figures::{Figures, Row, short};
use crate::rounds::{Plan, Samples, action, alternate, timed};

const TOOLS: &str = "growth with tools";
const SOURCES: &str = "growth with sources";
const EXECUTIONS: &str = "growth with executions";

const SIZES: [usize; 3] = [100, 1_000, 10_000];
const WORKSPACE: &str = "/v1/workspaces/default";

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    if !context.figures.begins("growth", &[TOOLS, SOURCES, EXECUTIONS]) {
        return Ok(());
    }
    let plan = context.options.plan(60, 0.3);
    if context.figures.wants(TOOLS) {
        let growth = tools(context, plan)?;
        growth.show(TOOLS, &SIZES, &mut context.figures);
    }
    if context.figures.wants(SOURCES) {
        let growth = sources(context, plan)?;
        growth.show(SOURCES, &[1, 10, 100], &mut context.figures);
    }
    if context.figures.wants(EXECUTIONS) {
        let growth = executions(context, plan)?;
        growth.show(EXECUTIONS, &SIZES, &mut context.figures);
    }
    Ok(())
}

/// What was measured at each size, under one name each.
#[derive(Default)]
struct Growth(Vec<(&'static str, &'static str, Vec<f64>)>);

impl Growth {
    fn add(&mut self, what: &'static str, unit: &'static str, value: f64) {
        match self.0.iter_mut().find(|(name, ..)| *name == what) {
            Some((_, _, values)) => values.push(value),
            None => self.0.push((what, unit, vec![value])),
        }
    }

    fn add_times(&mut self, what: &'static str, times: Samples) {
        self.add(what, "ms", times.at_ms(0.5));
    }

    /// A row each: the last size's figure, with all sizes and the slope
    /// beside it.
    fn show(self, title: &str, sizes: &[usize], figures: &mut Figures) {
        for (what, unit, values) in self.0 {
            let (first, last) = (values[0], values[values.len() - 1]);
            let steps = (sizes[sizes.len() - 1] as f64 / sizes[0] as f64).log10();
            let slope = (last / first).log10() / steps;
            let each: Vec<String> = values.iter().map(|value| short(*value)).collect();
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            let more = format!("at {}: {}; slope {slope:.2}", sizes.join(" / "), each.join(" / "));
            figures.add(Row::new(&format!("{title}: {what}"), unit, last).more(more));
        }
    }
}

/// An OpenAPI document with so many operations, no two of them alike.
fn document(origin: &str, name: &str, operations: usize) -> Value {
    const NOUNS: [&str; 10] =
        ["invoice", "order", "ticket", "branch", "parcel", "meeting", "lamp", "camera", "ledger", "recipe"];
    let paths: serde_json::Map<String, Value> = (0..operations)
        .map(|number| {
            let noun = NOUNS[number % NOUNS.len()];
            let operation = json!({ "get": {
                "operationId": format!("{noun}s/get{number}"), "tags": [format!("{noun}s")],
                "summary": format!("Get {noun} number {number} of {name}"),
                "parameters": [{ "name": "id", "in": "query", "schema": { "type": "string" } }],
                "responses": { "200": { "description": "", "content": { "application/json": {
                    "schema": { "$ref": "#/components/schemas/Thing" } } } } },
            } });
            (format!("/{noun}s/{number}"), operation)
        })
        .collect();
    json!({
        "openapi": "3.0.3", "info": { "title": name, "version": "1" }, "servers": [{ "url": origin }],
        "paths": paths,
        "components": { "schemas": { "Thing": { "type": "object", "properties": {
            "id": { "type": "string" }, "made": { "type": "string", "format": "date-time" } } } } },
    })
}

/// Serves at `/NAME/COUNT` a document with so many operations.
async fn serve() -> Result<plain::Upstream> {
    let answer = |request: &Request<'_>| {
        let mut segments = request.path.trim_start_matches('/').split('/');
        let (name, count) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
        Answer::json(200, &document("http://127.0.0.1:9", name, count.parse().unwrap_or(1)))
    };
    Ok(plain::start(answer).await?)
}

fn add(client: &mut Client, origin: &str, name: &str, tools: usize) -> Result<()> {
    let request =
        json!({ "url": format!("{origin}/{name}/{tools}"), "name": name, "allow_hosts": [host(origin)] });
    client.post(&format!("{WORKSPACE}/sources"), &request.to_string()).map(drop)
}

fn daemon(context: &mut Context<'_>) -> Result<Daemon> {
    let home = context.homes.ours()?;
    let (daemon, _) = context.homes.start(&home)?;
    daemon.execute(&mut daemon.client()?, "return 'warm'")?;
    Ok(daemon)
}

/// How long it takes to find, to describe, to run, and what is resident.
fn catalogue(growth: &mut Growth, plan: Plan, daemon: &Daemon, path: &str) -> Result<()> {
    let (mut client, mut other, mut third) = (daemon.client()?, daemon.client()?, daemon.client()?);
    let [search, describe, execute] = alternate(
        plan,
        [
            action(|number| {
                let words = ["get+parcel", "invoice+number", "lamp", "the+recipe"][number % 4];
                let limit = 5 + number % 20;
                let path = format!("{WORKSPACE}/tools?limit={limit}&query={words}+{number}");
                Ok(timed(|| client.get(&path))?.0)
            }),
            action(|number| {
                let depth = 1 + number % 3;
                Ok(timed(|| other.get(&format!("{WORKSPACE}/tools/{path}?depth={depth}")))?.0)
            }),
            action(|number| Ok(daemon.execute(&mut third, &format!("return {number} + 1"))?.0)),
        ],
    );
    for (what, outcome) in [("search", search), ("describe", describe), ("execute trivial", execute)] {
        growth.add_times(what, outcome.map_err(anyhow::Error::msg).context(what)?);
    }
    std::thread::sleep(Duration::from_millis(500));
    growth.add("resident memory", "MB", daemon.memory_mb()?);
    Ok(())
}

fn tools(context: &mut Context<'_>, plan: Plan) -> Result<Growth> {
    let documents = context.handle.block_on(serve())?;
    let mut growth = Growth::default();
    for size in SIZES {
        let daemon = daemon(context)?;
        let (took, ()) = timed(|| add(&mut daemon.client()?, documents.origin(), "many", size))?;
        growth.add("adding the source", "ms", took.as_secs_f64() * 1e3);
        catalogue(&mut growth, plan, &daemon, "many.invoices.get0")?;
    }
    Ok(growth)
}

/// Sources of ten tools each, added one after the other.
fn sources(context: &mut Context<'_>, plan: Plan) -> Result<Growth> {
    let documents = context.handle.block_on(serve())?;
    let daemon = daemon(context)?;
    let mut growth = Growth::default();
    let mut there = 0;
    for size in [1, 10, 100] {
        let mut client = daemon.client()?;
        let mut last = Duration::ZERO;
        for number in there..size {
            last = timed(|| add(&mut client, documents.origin(), &format!("api{number}"), 10))?.0;
        }
        there = size;
        growth.add("adding the last one", "ms", last.as_secs_f64() * 1e3);
        catalogue(&mut growth, plan, &daemon, "api0.invoices.get0")?;
    }
    Ok(growth)
}

/// Executions on record, and what it takes to list and to show them.
fn executions(context: &mut Context<'_>, plan: Plan) -> Result<Growth> {
    let daemon = daemon(context)?;
    let mut client = daemon.client()?;
    // Two that failed, the oldest: the rarest of what a list may ask for.
    for number in 0..2 {
        let request = json!({ "code": format!("throw new Error('number {number}')") });
        client.post(daemon.executions, &request.to_string())?;
    }
    let mut growth = Growth::default();
    let mut there = 3;
    for size in SIZES {
        while there < size {
            let window = Duration::from_millis(if size - there > 2_000 { 400 } else { 20 });
            there += flood(&daemon, 8, window, there * 10_000)?.1.len();
        }
        let page: Value = serde_json::from_str(&client.get(&format!("{}?limit=50", daemon.executions))?)?;
        let ids: Vec<&str> =
            page["items"].as_array().into_iter().flatten().filter_map(|item| item["id"].as_str()).collect();
        anyhow::ensure!(!ids.is_empty(), "the list of executions is empty: {page}");
        let list = |more: &'static str| {
            let (mut client, path) = (daemon.client()?, daemon.executions);
            Ok::<_, anyhow::Error>(move |number: usize| {
                Ok(timed(|| client.get(&format!("{path}?limit={}{more}", 30 + number % 20)))?.0)
            })
        };
        let mut showing = daemon.client()?;
        let [newest, failed, show] = alternate(
            plan,
            [
                action(list("")?),
                action(list("&status=failed")?),
                action(|number| {
                    let path = format!("{}/{}", daemon.executions, ids[number % ids.len()]);
                    Ok(timed(|| showing.get(&path))?.0)
                }),
            ],
        );
        let mut writing = daemon.client()?;
        let [execute] = alternate(
            plan,
            [action(|number| Ok(daemon.execute(&mut writing, &format!("return {number} + 1"))?.0))],
        );
        let all = [
            ("list the newest", newest),
            ("list the two that failed", failed),
            ("show one", show),
            ("execute trivial", execute),
        ];
        for (what, outcome) in all {
            growth.add_times(what, outcome.map_err(anyhow::Error::msg).context(what)?);
        }
        growth.add("resident memory", "MB", daemon.memory_mb()?);
    }
    Ok(growth)
}
