//! What an adapter is, in plain Rust.

use crate::seam::{Answer, Call, Detection, Failure, Http, IndexRequest, Info, Probe, Sink, Summary};

/// The functions of the interface `source`, of an adapter that asks no people.
pub trait Adapter {
    /// What the adapter is.
    fn describe() -> Info;
    /// What a document is to it; none: nothing.
    fn detect<H: Http>(probe: &Probe, http: &mut H) -> Option<Detection>;
    /// Makes tools of a document.
    ///
    /// # Errors
    /// What is wrong with the whole document, and the host's failures.
    fn index<H: Http>(request: &IndexRequest, sink: &mut dyn Sink, http: &mut H) -> Result<Summary, Failure>;
    /// Checks what a schema can't say of a call.
    ///
    /// # Errors
    /// What is wrong with it.
    fn validate<H: Http>(call: &Call, http: &mut H) -> Result<(), Failure>;
    /// Makes a call.
    ///
    /// # Errors
    /// What the upstream refused, and the host's failures.
    fn invoke<H: Http>(call: &Call, http: &mut H) -> Result<Answer, Failure>;
}
