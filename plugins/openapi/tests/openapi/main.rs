//! The adapter as the host sees it, over a catalogue and an API that write
//! down what they get.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod calls;
mod catalogue;
mod corpus;
mod detection;
mod external;
mod generate;
mod hostile;
mod newer;
mod pattern;
mod published;
mod support;
mod swagger;
