//! The processes that are measured. All of them end with the bench, also
//! where it is interrupted.

use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process};

static RUNNING: Mutex<Running> = Mutex::new(Running { children: Vec::new(), ending: false });

struct Running {
    children: Vec<u32>,
    ending: bool,
}

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process that ends when it is dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Starts it. The list is held meanwhile, so that no interruption falls
    /// between a start and its entry.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut running = running();
        if running.ending {
            bail!("interrupted");
        }
        let child = command.spawn()?;
        running.children.push(child.id());
        Ok(Self(child))
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Out of the list before it is waited for: afterwards the number may
        // be somebody else's.
        running().children.retain(|id| *id != self.0.id());
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Ends all of them, and lets no other start.
pub(crate) fn end_all() {
    let mut running = running();
    running.ending = true;
    for id in running.children.drain(..) {
        if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::KILL).ok();
        }
    }
}
