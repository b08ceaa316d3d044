//! The adapter as the host sees it, over a catalogue and an API that write
//! down what they get.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod calls;
mod catalogue;
mod detection;
mod errors;
mod hostile;
mod introspection;
mod published;
mod select;
mod support;
mod uploads;
mod validity;
