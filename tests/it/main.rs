//! The binary as its users meet it: one daemon a test on a home of its own,
//! the command line, and upstreams on loopback whose ledgers say what really
//! went over the wire.
#![expect(clippy::unwrap_used, reason = "a test ends where something it needs is not there")]

mod adding;
mod approvals;
mod authorized;
mod blobs;
mod components;
mod connect;
mod connecting;
mod daemon;
mod discovery;
mod documents;
mod durability;
mod files;
mod gate;
mod given_up;
mod graphql;
mod http;
mod identity;
mod keyring;
mod keys;
mod local;
mod main_job;
mod mcp;
mod mcp_changes;
mod mcp_client;
mod mcp_sources;
mod meanwhile;
mod neighbours;
mod oauth;
mod people;
mod programs;
mod refresh;
mod secrets;
mod sign_in;
mod telemetry;
mod terminal;
mod wire;
