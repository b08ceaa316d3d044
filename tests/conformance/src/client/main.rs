//! A client under test of the MCP conformance suite: the daemon itself, used as
//! a person would use it. Adds the server as a source, signs in where it wants
//! that, calls each tool, and answers what it asks.
//!
//! The suite gives the server's URL as the last argument, and what a scenario
//! needs in `MCP_CONFORMANCE_CONTEXT`. `EXECUTOR` names the binary.

mod arguments;
mod daemon;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use executor_upstreams::oauth::browser;
use serde_json::{Value, json};

use daemon::{Daemon, Outcome};

/// Where executor would be described to servers that take such a client.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// How often a call is authorized again for a scope that it lacks.
const STEPS: usize = 3;

/// Hosts that a source may turn out to need besides its own.
const HOSTS: usize = 4;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let url = std::env::args().next_back().context("the server's URL is the last argument")?;
    ensure!(url.starts_with("http"), "{url} is no URL");
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let daemon = Daemon::start()?;
    let mut client = Client { daemon, url, context, hosts: Vec::new() };
    client.add()?;
    if client.needs_sign_in()? {
        client.authorize(&[])?;
        // Where the server has moved to another authorization server, what was
        // pinned is given up, and a person signs in there.
        if client.tools()?.is_empty() {
            client.daemon.run(&["connections", "remove", "s"])?.ok()?;
            client.authorize(&[])?;
        }
    }
    let tools = client.tools()?;
    for tool in &tools {
        client.call(tool, &tools)?;
    }
    Ok(())
}

struct Client {
    daemon: Daemon,
    url: String,
    context: Value,
    hosts: Vec<String>,
}

impl Client {
    /// Adds the server, with the hosts that it turned out to need so far.
    fn add(&mut self) -> Result<()> {
        if self.hosts.is_empty() {
            let host = self.url.split("//").nth(1).and_then(|rest| rest.split('/').next());
            self.hosts.push(host.context("a host")?.to_owned());
        }
        let mut words = vec!["sources", "add", &self.url, "--name", "s", "--kind", "mcp", "--trusted"];
        words.extend(self.hosts.iter().flat_map(|host| ["--allow-host", host.as_str()]));
        self.daemon.run(&words)?.ok()?;
        Ok(())
    }

    fn needs_sign_in(&self) -> Result<bool> {
        let source = self.daemon.run(&["sources", "show", "s", "--json"])?.json()?;
        let warnings = source["warnings"].as_array().cloned().unwrap_or_default();
        Ok(warnings.iter().any(|warning| warning["code"] == "sign-in-needed"))
    }

    fn tools(&self) -> Result<Vec<String>> {
        let listed = self.daemon.run(&["tools", "list", "--source", "s", "--json"])?.json()?;
        let items = listed["items"].as_array().cloned().unwrap_or_default();
        let paths = items.iter().filter_map(|item| item["path"].as_str().map(str::to_owned));
        let own = |path: &String| !path.starts_with("s.prompts.") && !path.starts_with("s.resources.");
        Ok(paths.filter(own).collect())
    }

    /// Signs in. The authorization server may be at another port of this
    /// machine, which a person grants once it is named.
    fn authorize(&mut self, scopes: &[String]) -> Result<()> {
        for _ in 0..HOSTS {
            let outcome = self.sign_in(scopes)?;
            let Some(host) = outcome.wanted_host() else { return outcome.ok().map(drop) };
            ensure!(!self.hosts.contains(&host), "{host} was granted already: {outcome:?}");
            self.hosts.push(host);
            self.daemon.run(&["sources", "remove", "s"])?.ok()?;
            self.add()?;
        }
        bail!("the server leads to ever more hosts")
    }

    fn sign_in(&self, scopes: &[String]) -> Result<Outcome> {
        let mut words = match scopes {
            [] => vec!["connections", "add", "s", "--auth", "oauth2", "--client-metadata", CLIENT_METADATA],
            _ => vec!["connections", "authorize", "s"],
        };
        let told = |name: &str| self.context[name].as_str().map(str::to_owned);
        let (id, secret) = (told("client_id"), told("client_secret"));
        if let Some(id) = id.as_deref().filter(|_| scopes.is_empty()) {
            words.extend(["--client-id", id]);
            if secret.is_some() {
                words.extend(["--client-secret", "env:CLIENT_SECRET"]);
            }
        }
        words.extend(scopes.iter().flat_map(|scope| ["--scope", scope.as_str()]));
        words.push("--no-browser");
        self.daemon.run_with_page(&words, secret.as_deref(), |url| {
            browser::consent(url).map(drop).map_err(Into::into)
        })
    }

    /// The arguments that the scenario gives for a tool; what is null there is
    /// left out, as by whoever has no value.
    fn told_arguments(&self, tool: &str) -> Option<Value> {
        let calls = self.context["toolCalls"].as_array()?;
        let call = calls.iter().find(|call| call["name"].as_str() == tool.strip_prefix("s."))?;
        let mut arguments = call["arguments"].clone();
        arguments.as_object_mut()?.retain(|_, value| !value.is_null());
        Some(arguments)
    }

    fn schema(&self, tool: &str) -> Result<Value> {
        Ok(self.daemon.run(&["tools", "describe", tool, "--json"])?.json()?["input_schema"].clone())
    }

    fn call(&mut self, tool: &str, all: &[String]) -> Result<()> {
        let schema = self.schema(tool)?;
        let mut arguments = self.told_arguments(tool).unwrap_or_else(|| arguments::of(&schema));
        // A tool that takes a schema is shown that of another, as it arrived.
        if schema["properties"]["schema"]["type"] == "object"
            && let Some(other) = all.iter().find(|other| *other != tool)
        {
            arguments["schema"] = self.schema(other)?;
        }
        let arguments = arguments.to_string();
        for _ in 0..=STEPS {
            let outcome = self.daemon.run(&["call", tool, &arguments, "--json"])?;
            let mut view = outcome.value();
            while view["status"] == "waiting_for_interaction" {
                view = self.answer(&view)?;
            }
            eprintln!("{tool}: {} {}", view["status"], view["error"]["message"]);
            let missing = &view["error"]["details"]["details"]["missing_scopes"];
            let missing: Vec<String> = missing
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|one| one.as_str().map(str::to_owned))
                .collect();
            if missing.is_empty() {
                return Ok(());
            }
            self.authorize(&missing)?;
        }
        Ok(())
    }

    /// Says yes, with what a form has by default.
    fn answer(&self, view: &Value) -> Result<Value> {
        let id = view["id"].as_str().context("an execution")?;
        let question = &view["interactions"][0];
        let content = arguments::of(&question["schema"]).to_string();
        let mut words = vec!["resume", id, "--accept", "--yes", "--json"];
        if question["schema"].is_object() {
            words.extend(["--content", content.as_str()]);
        }
        let value = self.daemon.run(&words)?.value();
        ensure!(value != json!(null), "nothing came of the answer to {question}");
        Ok(value)
    }
}
