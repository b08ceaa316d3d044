//! The server under test says where it listens, and takes no other site's
//! requests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn ask(address: &str, host: &str) -> Result<String> {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{"_meta":{meta}}}}}"#);
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: server/discover\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn it_listens_where_it_says() -> Result<()> {
    let mut server =
        Server(Command::new(env!("CARGO_BIN_EXE_executor-conformance")).stdout(Stdio::piped()).spawn()?);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().context("it has a stdout")?).read_line(&mut line)?;
    let address = line.trim().strip_prefix("http://").and_then(|line| line.strip_suffix("/mcp"));
    let address = address.context("it prints a URL")?;
    let answer = ask(address, address)?;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("supportedVersions"), "{answer}");
    let elsewhere = ask(address, "evil.example")?;
    assert!(elsewhere.starts_with("HTTP/1.1 403"), "{elsewhere}");
    Ok(())
}
