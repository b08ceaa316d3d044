//! The binary.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::client::anonymous;

fn start(arguments: &[&str]) -> (Child, BufReader<ChildStdout>, SocketAddr) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_github-emulator"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("it says where it listens");
    let addr = line.strip_prefix("listening on http://").and_then(|addr| addr.trim().parse().ok());
    (child, stdout, addr.unwrap_or_else(|| panic!("{line}")))
}

#[tokio::test]
async fn it_listens_and_ends_with_its_stdin() {
    let (mut child, mut stdout, addr) =
        start(&["--exit-with-stdin", "--token", "mine:hubot", "--require-token"]);
    let user = anonymous(addr, "GET", "/user").header("authorization", "Bearer mine").expect(200).await;
    assert_eq!(user["login"], "hubot");
    anonymous(addr, "GET", "/zen").expect(401).await;
    drop(child.stdin.take());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("it closes its stdout");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(rest, "");
}

#[tokio::test]
async fn it_ends_on_a_signal() {
    for name in ["-TERM", "-INT"] {
        let (mut child, _stdout, addr) = start(&[]);
        anonymous(addr, "GET", "/rate_limit").expect(200).await;
        let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn it_says_what_it_can_not_do() {
    let check = |arguments: &[&str], expected: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_github-emulator"))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(said.contains(expected), "{said}");
    };
    check(&["--document", "/nowhere/openapi.json"], "could not read /nowhere/openapi.json");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("it is bound").port().to_string();
    check(&["--port", &port], &format!("could not listen on 127.0.0.1:{port}"));
}
