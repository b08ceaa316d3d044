//! Connections as people make them at the command line: which method is meant,
//! what is pasted, what is lost, and what is shown of them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, Stdio};

use executor_upstreams::graphql::{self, Config, TOKEN};
use executor_upstreams::oauth::{self, PUBLIC_CLIENT, Poll, Script, browser};
use serde_json::json;

use crate::daemon::Daemon;
use crate::oauth::{authorize, by_code, call, start};

/// A command that waits for a person, and what it says.
struct Waiting {
    process: Child,
    told: BufReader<ChildStderr>,
    said: String,
}

impl Waiting {
    fn begin(daemon: &Daemon, arguments: &[&str]) -> Self {
        let mut process = daemon.command(arguments);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = process.spawn().unwrap();
        let told = BufReader::new(process.stderr.take().unwrap());
        Self { process, told, said: String::new() }
    }

    /// The first line with `part` in it.
    #[track_caller]
    fn until(&mut self, part: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.told.read_line(&mut line).unwrap() > 0, "{part} is not in {}", self.said);
            self.said.push_str(&line);
            if line.contains(part) {
                return line.trim().to_owned();
            }
        }
    }

    fn type_line(&mut self, line: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Its talk and data, and how it ended once nobody typed any more.
    fn end(mut self) -> (String, String, i32) {
        drop(self.process.stdin.take());
        self.told.read_to_string(&mut self.said).unwrap();
        let output = self.process.wait_with_output().unwrap();
        (self.said, String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap_or(-1))
    }
}

const BY_CODE: [&str; 7] = ["connections", "add", "api", "--auth", "oauth", "--client-id", PUBLIC_CLIENT];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_address_is_asked_for_again_and_costs_nothing() {
    let (daemon, emulator) = start(Script::default()).await;
    let mut adding = Waiting::begin(&daemon, &[&BY_CODE[..], &["--paste", "--no-browser"]].concat());
    let url = adding.until("code_challenge");
    let address = browser::open(&url).unwrap().location.unwrap();
    adding.type_line("hello");
    adding.type_line("http://127.0.0.1:9/callback?code=another&state=stranger");
    adding.type_line(&address);
    let (said, printed, code) = adding.end();
    assert!(code == 0 && printed.contains("added api/default: oauth"), "{said}{printed}");
    for part in ["a page that it can't show", "no address with `code=`", "is of another authorization"] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    assert_eq!(emulator.ledger.matching("POST", "/token").len(), 1, "the right one alone was spent");

    let again = ["connections", "authorize", "api", "--paste", "--no-browser"];
    let (said, _, code) = Waiting::begin(&daemon, &again).end();
    assert!(code == 2 && said.contains("no address was given"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_has_no_address_to_paste() {
    let script =
        Script::default().with(|script| script.devices.polls = [Poll::Pending, Poll::Approved].into());
    let (daemon, _emulator) = start(script).await;
    let options = ["--auth", "device", "--client-id", PUBLIC_CLIENT, "--paste", "--no-browser"];
    let (said, printed, code) =
        Waiting::begin(&daemon, &[&["connections", "add", "api"][..], &options].concat()).end();
    assert!(code == 0 && printed.contains("added api/default: device"), "{said}{printed}");
    assert!(said.contains("Waiting for that for") && said.contains("minutes."), "{said}");
    assert!(!said.contains("--paste") && !said.contains("The address that"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_that_ended_with_its_daemon_can_be_repeated() {
    let (mut daemon, _emulator) = start(Script::default()).await;
    let mut adding = Waiting::begin(&daemon, &[&BY_CODE[..], &["--no-browser"]].concat());
    adding.until("Waiting for that for 15 minutes.");
    daemon.kill();
    let (said, _, code) = adding.end();
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("this sign-in with it"), "{said}");
    assert!(said.contains("begin again: `executor connections add api --auth oauth`"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_values_say_which_method_is_meant() {
    let (daemon, _emulator) = start(Script::default()).await;
    let right = oauth::Credentials::default();
    let file = daemon.home().join("basic");
    std::fs::write(&file, format!("{}:{}\n", right.username, right.password)).unwrap();
    let from = format!("username=file:{}", file.display());
    let added = daemon.run(&["connections", "add", "api", "--from", &from]).ok();
    assert!(added.contains("added api/default: basic"), "{added}");
    call(&daemon, "api.auth.basic", &json!({})).ok();

    std::fs::write(&file, "one\ntwo\n").unwrap();
    let add = ["connections", "add", "api", "--name", "two", "--auth", "bearer", "--from"];
    let said = daemon.run(&[&add[..], &[&format!("file:{}", file.display())]].concat()).fails(2);
    assert!(said.contains("line break"), "{said}");
    let said = daemon.run(&["connections", "add", "api", "--name", "two", "--set", "nothing=@x"]).fails(2);
    assert!(said.contains("no auth method of the source takes the values"), "{said}");

    let daemon = Daemon::start().with("KEY", TOKEN);
    let emulator = graphql::start(Config::default()).await.unwrap();
    let host = emulator.origin().trim_start_matches("http://");
    let add = ["sources", "add", &emulator.endpoint(), "--name", "shop", "--allow-host", host];
    daemon.run(&[&add[..], &["--set", "auth_header=x-key"]].concat()).ok();
    daemon.run(&["connections", "add", "shop", "--from", "env:KEY"]).ok();
    let shown = daemon.run(&["connections", "show", "shop"]).ok();
    assert!(shown.contains("header x-key"), "{shown}");
    emulator.ledger.clear();
    daemon.run(&["call", "shop.query.book", "--id", "1"]).ok();
    let sent = emulator.ledger.matching("POST", "/graphql");
    assert_eq!(sent[0].header("x-key"), Some(TOKEN), "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn flows_and_grants_are_shown() {
    let (daemon, emulator) = start(Script::default()).await;
    let shown = daemon.run(&["sources", "show", "api"]).ok();
    for part in ["oauth by --flow", "authorization-code", "device-code", "items:read", "header X-Api-Key"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    assert!(shown.contains(&format!("{}/authorize", emulator.origin())), "{shown}");
    let source = daemon.run(&["sources", "show", "api", "--json"]).json();
    let methods = source["auth_methods"].as_array().unwrap();
    let flows = |id: &str| methods.iter().find(|method| method["id"] == id).unwrap()["flows"].clone();
    assert_eq!(flows("oauth")[0]["flow"], "authorization-code", "{source}");
    assert_eq!(flows("bearer"), json!(null));

    authorize(&daemon, by_code());
    let shown = daemon.run(&["connections", "show", "api"]).ok();
    for part in ["authorization-code", PUBLIC_CLIENT, "items:read, items:write", "token endpoint", "ok"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let said = daemon.run(&["connections", "set", "api", "--set", "token=env:GITHUB_TOKEN"]).fails(2);
    assert!(said.contains("executor connections authorize api default"), "{said}");
    let said = daemon.run(&["connections", "show", "api", "other"]).fails(2);
    assert!(said.contains("there is no connection api/other"), "{said}");
}
