//! The program at the other end.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::executor::adapter::stdio::Process;
use crate::executor::adapter::types::Failure;
use crate::failure;

/// A handle on the connection's process.
pub(crate) struct Server(Process);

impl Server {
    pub(crate) fn attach() -> Result<Self, Failure> {
        Ok(Self(Process::attach()?))
    }

    pub(crate) fn generation(&self) -> u64 {
        self.0.generation()
    }

    /// Sends a request under an id of its own and waits for its answer; what
    /// the program says besides is for others.
    pub(crate) fn ask(&self, request: &Value, patience_ms: u64) -> Result<Value, Failure> {
        let id = format!("{:016x}", RandomState::new().hash_one(()));
        let mut request = request.clone();
        request["id"] = json!(id);
        self.0.write_line(&request.to_string())?;
        let begun = Instant::now();
        let patience = Duration::from_millis(patience_ms);
        while let Some(left) = patience.checked_sub(begun.elapsed()) {
            let left = u32::try_from(left.as_millis()).unwrap_or(u32::MAX).max(1);
            match self.next(left)? {
                Some(line) if line["id"] == id => return Ok(line),
                _ => {}
            }
        }
        Err(failure("timeout", format!("the program did not answer for {patience_ms} ms")))
    }

    /// The next line, where it is an object and not noise.
    pub(crate) fn next(&self, timeout_ms: u32) -> Result<Option<Value>, Failure> {
        let line = self.0.read_line(timeout_ms)?;
        let line = line.as_deref().map(|line| line.trim_start_matches('\u{feff}'));
        Ok(line.and_then(|line| serde_json::from_str(line).ok()).filter(Value::is_object))
    }
}
