//! A call with each way to authenticate, beside a client that calls the same
//! upstream without any.

use anyhow::{Context as _, Result};
use executor_upstreams::oauth::{self, CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET, ExpiresIn, Script};
use serde_json::{Value, json};

use crate::Context;
use crate::calling::host;
use crate::client::Client;
use crate::daemon::Daemon;
use crate::executing::programs;
use crate::figures::Row;
use crate::rounds::{Outcome, action, alternate, timed};

const CONNECTIONS: &str = "/v1/workspaces/default/connections";

/// Row, connection, tool.
const WAYS: [(&str, &str, &str); 8] = [
    ("a call without a credential", "", "open({})"),
    ("a call with a key in a header", "key", "keyHeader({})"),
    ("a call with a key in the query", "query", "keyQuery({})"),
    ("a call with a key in a cookie", "cookie", "keyCookie({})"),
    ("a call with HTTP basic", "basic", "basic({})"),
    ("a call with a bearer token", "bearer", "bearer({})"),
    ("a call with an OAuth token", "machine", "machine({})"),
    ("a call signed for AWS", "aws", "signed({ name: 'x' })"),
];
const REFRESHED: &str = "a call whose OAuth token is got anew first, and synced";

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    let mut rows: Vec<&str> = WAYS.iter().map(|(row, _, _)| *row).collect();
    rows.push(REFRESHED);
    if !context.figures.begins("authenticating", &rows) {
        return Ok(());
    }
    let emulator = context.handle.block_on(oauth::start(Script::default()))?;
    let home = context.homes.ours()?;
    let (daemon, _) = context.homes.start(&home)?;
    connect(&daemon, &emulator)?;
    let mut direct = Client::new(host(emulator.origin()), None)?;
    let [floor] = alternate(
        context.options.plan(200, 0.6),
        [action(|number| Ok(timed(|| direct.get(&format!("/auth/open?q={number}")))?.0))],
    );
    let floor = floor.map_or(0.0, |floor| floor.at_ms(0.5));
    for (row, connection, call) in WAYS {
        if context.figures.wants(row) {
            let ours = called(context, &daemon, connection, call)?;
            context.figures.add(Row::new(row, "ms", ours).more(format!("a direct client: {floor:.2}")));
        }
    }
    if context.figures.wants(REFRESHED) {
        emulator.change(|script| script.tokens.expires_in = ExpiresIn::Other(json!(0.001)));
        authorize(&mut daemon.client()?, "anew")?;
        let ours = called(context, &daemon, "anew", "machine({})")?;
        context.figures.add(Row::new(REFRESHED, "ms", ours).more("a token request and a sync of the disk"));
    }
    Ok(())
}

fn called(context: &Context<'_>, daemon: &Daemon, connection: &str, call: &str) -> Result<Outcome> {
    let options = if connection.is_empty() { json!({}) } else { json!({ "connection": connection }) };
    let call = call.replace("})", &format!("}}, {options})"));
    let program = move |number: usize| {
        let call = call.replacen("({", &format!("({{ q: '{number}', "), 1);
        format!("return (await tools.api.auth.{call}).operation")
    };
    let [ours] = alternate(context.options.plan(200, 0.8), [action(programs(daemon, program)?)]);
    Ok(ours)
}

fn connect(daemon: &Daemon, emulator: &oauth::Emulator) -> Result<()> {
    let mut client = daemon.client()?;
    let request = json!({ "url": format!("{}/openapi.json", emulator.origin()), "name": "api",
        "allow_hosts": [host(emulator.origin())] });
    client.post("/v1/workspaces/default/sources", &request.to_string()).context("adding the API")?;
    let right = oauth::Credentials::default();
    let aws = json!({ "access_key_id": right.aws.access_key, "secret_access_key": right.aws.secret_key,
        "region": right.aws.region, "service": right.aws.service });
    let connections: [(&str, &str, Value); 6] = [
        ("key", "keyHeader", json!({ "token": right.header_key })),
        ("query", "keyQuery", json!({ "token": right.query_key })),
        ("cookie", "keyCookie", json!({ "token": right.cookie_key })),
        ("basic", "basic", json!({ "username": right.username, "password": right.password })),
        ("bearer", "bearer", json!({ "token": right.bearer })),
        ("aws", "aws", aws),
    ];
    for (name, method, variables) in connections {
        let request = json!({ "source": "api", "name": name, "methods": [method], "variables": variables });
        client.post(CONNECTIONS, &request.to_string())?;
    }
    authorize(&mut client, "machine")
}

fn authorize(client: &mut Client, name: &str) -> Result<()> {
    let request = json!({ "source": "api", "name": name, "methods": ["machine"],
        "oauth": { "client_id": CONFIDENTIAL_CLIENT, "client_secret": CONFIDENTIAL_SECRET } });
    client.post("/v1/workspaces/default/authorizations", &request.to_string())?;
    Ok(())
}
