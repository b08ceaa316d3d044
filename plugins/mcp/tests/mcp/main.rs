//! The adapter as the host sees it, over servers that follow a script.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod answers;
mod catalogue;
mod detection;
mod greeting;
mod host;
mod hostile;
mod process;
mod questions;
mod signing_in;
mod streams;
mod support;
mod watching;
