//! `executor:adapter/stdio`: the lines of the local program that a connection
//! runs.

use std::time::{Duration, Instant};

use executor_bindings::adapter::executor::adapter::{stdio, types::Failure};
use serde_json::json;
use wasmtime::component::Resource;

use super::farewell::{self, Word};
use super::{AdapterSeam, host_failure};
use crate::egress::{Capture, RequestRecord};
use crate::guest::Guest;
use crate::processes::{Handle, ProcessError};

/// Handles that one call holds at one time.
const HANDLES: usize = 16;

/// How a line to a program stands among the requests of a call.
pub(super) const WRITE: &str = "WRITE";

fn process_failure(error: &ProcessError) -> Failure {
    let details = error.ended().map(|ended| json!({ "status": ended.status, "stderr": ended.stderr }));
    Failure {
        retryable: error.retryable(),
        details: details.map(|details| details.to_string()),
        ..host_failure(error.code(), error.to_string())
    }
}

fn borrowed(process: &Resource<stdio::Process>) -> Resource<Handle> {
    Resource::new_borrow(process.rep())
}

impl stdio::Host for Guest<AdapterSeam> {}

impl stdio::HostProcess for Guest<AdapterSeam> {
    async fn attach(&mut self) -> wasmtime::Result<Result<Resource<stdio::Process>, Failure>> {
        let Some(local) = &self.seam.context.local else {
            return Ok(Err(host_failure("denied", "this source was not made from a command")));
        };
        if self.seam.processes_held >= HANDLES {
            let message = format!("one call has at most {HANDLES} handles on its process");
            return Ok(Err(host_failure("denied", message)));
        }
        match self.seam.processes.attach(local).await {
            Ok(handle) => {
                let held = self.table.push(handle)?;
                self.seam.processes_held += 1;
                Ok(Ok(Resource::new_own(held.rep())))
            }
            Err(error) => Ok(Err(process_failure(&error))),
        }
    }

    async fn write_line(
        &mut self,
        process: Resource<stdio::Process>,
        line: String,
    ) -> wasmtime::Result<Result<(), Failure>> {
        if line.contains(['\n', '\r']) {
            return Ok(Err(host_failure("invalid-request", "a line holds no line break")));
        }
        let scope = &self.seam.context.scope;
        if scope.capture != Capture::Off {
            return Ok(Err(host_failure("captured", "nothing is written while a call is looked at")));
        }
        let begun = Instant::now();
        let written = self.table.get(&borrowed(&process))?.write(line).await;
        self.seam.context.scope.observe(RequestRecord {
            method: WRITE.into(),
            origin: "stdio".into(),
            path: String::new(),
            status: None,
            error: written.as_ref().err().map(ProcessError::code),
            challenge: None,
            duration_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
        });
        Ok(written.map_err(|error| process_failure(&error)))
    }

    async fn farewell(
        &mut self,
        process: Resource<stdio::Process>,
        line: Option<String>,
    ) -> wasmtime::Result<Result<(), Failure>> {
        self.seam.farewell.leave(None);
        let Some(line) = line else { return Ok(Ok(())) };
        if line.contains(['\n', '\r']) || line.len() > farewell::BYTES {
            let message = format!("a farewell is one line of at most {} bytes", farewell::BYTES);
            return Ok(Err(host_failure("invalid-request", message)));
        }
        if self.seam.context.scope.capture == Capture::Off {
            let last = self.table.get(&borrowed(&process))?.last_line(line);
            self.seam.farewell.leave(Some(Word::Line(last)));
        }
        Ok(Ok(()))
    }

    async fn read_line(
        &mut self,
        process: Resource<stdio::Process>,
        timeout_ms: u32,
    ) -> wasmtime::Result<Result<Option<String>, Failure>> {
        let handle = self.table.get(&borrowed(&process))?;
        let read = handle.read(Duration::from_millis(timeout_ms.into())).await;
        // A guest that reads lines that are there already never waits.
        tokio::task::consume_budget().await;
        Ok(read
            .map(|line| line.map(|line| line.as_ref().to_owned()))
            .map_err(|error| process_failure(&error)))
    }

    async fn claim(&mut self, process: Resource<stdio::Process>, key: String) -> wasmtime::Result<bool> {
        Ok(self.table.get(&borrowed(&process))?.claim(key))
    }

    async fn generation(&mut self, process: Resource<stdio::Process>) -> wasmtime::Result<u64> {
        Ok(self.table.get(&borrowed(&process))?.generation())
    }

    async fn drop(&mut self, process: Resource<stdio::Process>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Handle>::new_own(process.rep()))?;
        self.seam.processes_held = self.seam.processes_held.saturating_sub(1);
        Ok(())
    }
}
