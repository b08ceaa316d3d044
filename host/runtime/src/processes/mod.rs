//! The local programs that connections of some sources are: a process for
//! each connection, started when it is first needed, shared by all its calls,
//! and ended with the daemon, however that ends.

mod ended;
mod guard;
mod lines;
mod process;
mod program;
mod tail;

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

pub use ended::{Ended, ProcessError};
pub use guard::guard;
pub use program::LocalProgram;

use lines::{Next, Queue};
use process::Process;

/// Processes at one time, over all workspaces.
const PROCESSES: usize = 100;
/// Ends within [`WINDOW`] after which a program is not started again for as
/// long.
const ENDS: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// The pause before a start that follows an end; twice as long each time.
const PAUSE: Duration = Duration::from_millis(100);
/// How long the end of all programs may take: their guards give them two
/// seconds, and then need none.
const PATIENCE: Duration = Duration::from_secs(5);

/// How local programs are started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// What stands between the daemon and a program: runs [`guard`] with the
    /// arguments that follow its own.
    pub guard: GuardProgram,
    /// The environment of every program; nothing else of the daemon's.
    pub environment: Vec<(OsString, OsString)>,
    /// Where they start where nothing is said.
    pub directory: PathBuf,
    /// How long one stays that no call needs.
    pub idle: Duration,
}

/// A program that runs [`guard`].
#[derive(Debug, Clone)]
pub struct GuardProgram {
    /// Its file.
    pub program: PathBuf,
    /// Its own arguments.
    pub arguments: Vec<OsString>,
}

impl Launch {
    fn variable(&self, name: &str) -> Option<OsString> {
        let found = self.environment.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.clone())
    }
}

/// The local program that a call may speak to.
#[derive(Debug, Clone)]
pub struct Local {
    /// Whose process it is: workspace, source, connection, a slash after
    /// each.
    pub key: String,
    /// What it runs.
    pub program: LocalProgram,
    /// Whether it keeps the process from being idle.
    pub counts: bool,
}

/// All processes of the daemon.
pub struct Processes {
    launch: Option<Launch>,
    slots: Mutex<HashMap<String, Arc<Mutex<Slot>>>>,
}

/// The place of one connection's process.
#[derive(Default)]
struct Slot {
    process: Option<Arc<Process>>,
    /// When earlier ones ended by themselves, of late.
    ends: VecDeque<Instant>,
}

/// What a slot gives.
enum Step {
    Process(Arc<Process>),
    /// An earlier process is on its way out.
    Ending(Arc<Process>),
    /// It is too early to start it again.
    Pause(Instant),
}

impl Processes {
    /// None run yet. Without a launch none ever do.
    pub(crate) fn new(launch: Option<Launch>) -> Self {
        Self { launch, slots: Mutex::default() }
    }

    /// A handle on a connection's process, which is started where it does not
    /// run.
    pub(crate) async fn attach(&self, local: &Local) -> Result<Handle, ProcessError> {
        let launch = self.launch.as_ref().ok_or(ProcessError::Unsupported)?;
        loop {
            let slot = self.slots().entry(local.key.clone()).or_default().clone();
            let running = self.running();
            let step = lock(&slot).step(launch, &local.program, running)?;
            match step {
                Step::Process(process) => {
                    let Some(queue) = process.hold(local.counts)? else {
                        continue;
                    };
                    let known = self.slots().get(&local.key).is_some_and(|known| Arc::ptr_eq(known, &slot));
                    // Its connection was removed meanwhile.
                    if !known {
                        process.end();
                    }
                    return Ok(Handle { process, queue, counts: local.counts });
                }
                Step::Ending(process) => process.over().await,
                Step::Pause(until) => tokio::time::sleep_until(until).await,
            }
        }
    }

    fn running(&self) -> usize {
        let slots: Vec<_> = self.slots().values().cloned().collect();
        slots
            .iter()
            .filter(|slot| lock(slot).process.as_ref().is_some_and(|one| one.ended().is_none()))
            .count()
    }

    /// Ends the processes whose keys begin with `prefix`, and forgets them.
    pub fn end(&self, prefix: &str) {
        let mut slots = self.slots();
        let keys: Vec<String> = slots.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
        for slot in keys.iter().filter_map(|key| slots.remove(key)) {
            if let Some(process) = &lock(&slot).process {
                process.end();
            }
        }
    }

    /// Ends all, and waits until nothing of them is left.
    pub async fn close(&self) {
        let slots: Vec<_> = self.slots().drain().map(|(_, slot)| slot).collect();
        let processes: Vec<Arc<Process>> =
            slots.iter().filter_map(|slot| lock(slot).process.clone()).collect();
        for process in &processes {
            process.end();
        }
        let over = futures::future::join_all(processes.iter().map(|process| process.over()));
        if tokio::time::timeout(PATIENCE, over).await.is_err() {
            tracing::warn!("a local program is still ending; its guard sees to it");
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Arc<Mutex<Slot>>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.end("");
    }
}

fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    fn step(
        &mut self,
        launch: &Launch,
        program: &LocalProgram,
        running: usize,
    ) -> Result<Step, ProcessError> {
        let ended = match &self.process {
            None => None,
            Some(process) => match process.ended() {
                Some(ended) => Some(ended),
                None if process.is_ending() => return Ok(Step::Ending(process.clone())),
                None if process.program == *program => return Ok(Step::Process(process.clone())),
                // Another program of the same name, or with other values.
                None => {
                    process.end();
                    return Ok(Step::Ending(process.clone()));
                }
            },
        };
        let now = Instant::now();
        self.count(ended.as_ref(), now);
        if let Some(until) = self.pause(ended, now)? {
            return Ok(Step::Pause(until));
        }
        if running >= PROCESSES {
            return Err(ProcessError::Many);
        }
        let process = Process::start(launch, program.clone(), generation())?;
        self.process = Some(process.clone());
        Ok(Step::Process(process))
    }

    /// Remembers an end that nobody asked for, once.
    fn count(&mut self, ended: Option<&Arc<Ended>>, now: Instant) {
        if let Some(ended) = ended.filter(|ended| !ended.asked)
            && self.ends.back() != Some(&ended.at)
        {
            self.ends.push_back(ended.at);
        }
        while self.ends.len() > ENDS || self.ends.front().is_some_and(|at| now - *at >= WINDOW) {
            self.ends.pop_front();
        }
    }

    /// Until when it is too early to start it again.
    fn pause(&self, ended: Option<Arc<Ended>>, now: Instant) -> Result<Option<Instant>, ProcessError> {
        let (Some(last), Some(ended)) = (self.ends.back(), ended) else {
            return Ok(None);
        };
        if self.ends.len() >= ENDS {
            return Err(ProcessError::Restless { ended });
        }
        let doublings = u32::try_from(self.ends.len().saturating_sub(1)).unwrap_or(0);
        let until = *last + PAUSE * 2_u32.pow(doublings);
        Ok((until > now).then_some(until))
    }
}

/// A number that no process had before, in this daemon or an earlier one:
/// what adapters remember of a process outlives both.
fn generation() -> u64 {
    getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()))
}

/// One call's hold on a process.
pub(crate) struct Handle {
    process: Arc<Process>,
    queue: Arc<Queue>,
    counts: bool,
}

impl Handle {
    /// Writes a line, which has no line break.
    pub(crate) async fn write(&self, line: String) -> Result<(), ProcessError> {
        if let Some(ended) = self.process.ended() {
            return Err(ProcessError::Ended(ended));
        }
        self.process.write(line).await
    }

    /// The next line; none once `wait` has passed.
    pub(crate) async fn read(&self, wait: Duration) -> Result<Option<Arc<str>>, ProcessError> {
        match tokio::time::timeout(wait, self.queue.next()).await {
            Err(_) => Ok(None),
            Ok(Next::Line(line)) => Ok(Some(line)),
            Ok(Next::Lost) => Err(ProcessError::Lost),
            Ok(Next::Over) => Err(match self.process.ended() {
                Some(ended) => ProcessError::Ended(ended),
                None => ProcessError::Deaf { program: self.process.program.program.clone() },
            }),
        }
    }

    /// Whether this is the first to claim `key`.
    pub(crate) fn claim(&self, key: String) -> bool {
        self.process.claim(key)
    }

    pub(crate) fn generation(&self) -> u64 {
        self.process.generation
    }

    /// A line that may be written once this handle is gone.
    pub(crate) fn last_line(&self, line: String) -> LastLine {
        LastLine { process: self.process.clone(), line }
    }
}

/// A line for a process, to be written when its call is over.
pub(crate) struct LastLine {
    process: Arc<Process>,
    line: String,
}

impl LastLine {
    pub(crate) fn write(self) {
        self.process.write_last(self.line);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.process.release(&self.queue, self.counts);
    }
}

#[cfg(test)]
mod tests {
    use super::process::Idle;
    use super::*;

    fn ended(at: Instant, asked: bool) -> Arc<Ended> {
        Arc::new(Ended { program: "server".into(), status: Some(1), stderr: String::new(), asked, at })
    }

    #[test]
    fn a_program_that_keeps_ending_is_started_later_and_later_and_then_not_for_a_minute() {
        let (mut slot, mut now) = (Slot::default(), Instant::now());
        let mut pauses = Vec::new();
        let last = loop {
            let end = ended(now, false);
            slot.count(Some(&end), now);
            slot.count(Some(&end), now);
            match slot.pause(Some(end.clone()), now) {
                Ok(pause) => {
                    let until = pause.expect("there is always one");
                    pauses.push((until - now).as_millis());
                    now = until;
                }
                Err(error) => {
                    assert!(matches!(error, ProcessError::Restless { .. }), "{error}");
                    break end;
                }
            }
        };
        assert_eq!(pauses, [100, 200, 400, 800]);
        let later = |slot: &mut Slot, wait: Duration| {
            slot.count(Some(&last), now + wait);
            slot.pause(Some(last.clone()), now + wait)
        };
        let early = later(&mut slot, WINDOW - Duration::from_secs(2));
        assert!(early.is_err(), "all of its ends are of the last minute");
        let enough = later(&mut slot, WINDOW - Duration::from_millis(1));
        assert!(enough.is_ok_and(|pause| pause.is_none()), "the first of them are not any more");
        slot.count(None, now + WINDOW);
        assert!(slot.ends.is_empty());
    }

    /// A shell as guard: it ends the program once the daemon's pipe is closed.
    fn launch() -> Launch {
        const SCRIPT: &str =
            "pipe=/proc/self/fd/$1; shift; (cat $pipe; kill -9 $$) >/dev/null 2>&1 </dev/null & exec \"$@\"";
        let guard = GuardProgram {
            program: "/bin/sh".into(),
            arguments: ["-c", SCRIPT, "guard"].map(OsString::from).into(),
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let idle = Duration::from_secs(600);
        Launch { guard, environment: vec![("PATH".into(), path)], directory: "/".into(), idle }
    }

    #[tokio::test]
    async fn what_ends_for_being_idle_is_held_by_nobody() {
        let processes = Processes::new(Some(launch()));
        let program = LocalProgram {
            program: "cat".into(),
            arguments: Vec::new(),
            directory: None,
            environment: Vec::new(),
        };
        let local = Local { key: "default/echo/".into(), program, counts: true };
        let handle = processes.attach(&local).await.expect("it runs");
        let process = handle.process.clone();
        assert!(matches!(process.end_if_idle(Duration::ZERO), Idle::Held));
        drop(handle);
        assert!(matches!(process.end_if_idle(Duration::from_secs(600)), Idle::Since(_)));
        assert!(matches!(process.end_if_idle(Duration::ZERO), Idle::Ended));
        assert!(
            process.hold(true).expect("it runs").is_none(),
            "a call that comes now waits for the next process"
        );
        let next = processes.attach(&local).await.expect("it runs");
        assert_ne!(next.generation(), process.generation);
        next.write("hello".into()).await.expect("it runs");
        assert_eq!(next.read(PATIENCE).await.expect("it runs").as_deref(), Some("hello"));
        let late = process.listeners.add(usize::MAX).expect("it runs");
        assert_eq!(late.next().await, Next::Over, "whoever listens to what is gone hears so");
    }

    #[test]
    fn an_end_that_was_asked_for_is_no_failure() {
        let (mut slot, now) = (Slot::default(), Instant::now());
        for _ in 0..ENDS + 1 {
            let end = ended(now, true);
            slot.count(Some(&end), now);
            assert!(slot.pause(Some(end), now).is_ok_and(|pause| pause.is_none()));
        }
    }
}
