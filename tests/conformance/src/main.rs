//! What the MCP conformance suite expects of a server under test, served by
//! the code that serves the daemon's `/mcp`.
//!
//! It prints its URL once it listens, and serves until it is ended.

#![expect(deprecated, reason = "the older revisions are tested with all that they had")]

mod asking;
mod listing;
mod service;
mod tools;

use std::sync::Arc;

use asking::States;
use service::Fixture;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let states = Arc::new(States::default());
    executor_server::serve_alone(listener, move || Fixture::new(states.clone())).await?;
    Ok(())
}
