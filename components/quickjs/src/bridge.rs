//! The engine's only way out.

use crate::bindings::{Call, Level, Outcome};

/// The import `executor:sandbox/bridge`, one method a function. The host
/// matches calls to its journal by (scope, order), so an engine calls these
/// in the program's own order and never on its own account.
pub trait Bridge {
    /// Starts a call; its outcome comes from [`Bridge::next`] under this id.
    fn start(&self, call: &Call) -> u32;
    /// Waits for an outcome. None where nothing is outstanding.
    fn next(&self) -> Option<(u32, Outcome)>;
    /// Gives up a call: no outcome of it will be looked at.
    fn cancel(&self, id: u32);
    /// One line of the program's log.
    fn log(&self, level: Level, message: &str);
    /// A value that the program shows, as JSON.
    fn emit(&self, content: &str);
    /// Milliseconds since the epoch.
    fn now(&self) -> u64;
    /// `len` unpredictable bytes.
    fn random(&self, len: u32) -> Vec<u8>;
}
