//! One process of a local program, from its start to its end: what goes in
//! and out, who holds it, and how it ends.

use std::collections::VecDeque;
use std::io::PipeWriter;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::lines::{Cut, Cutter, Hidden, Listeners, Queue};
use super::tail::Tail;
use super::{Ended, Launch, LocalProgram, ProcessError};

/// Handles on one process.
const HANDLES: usize = 2_048;
/// Request ids of the server that are known to be claimed.
const CLAIMS: usize = 8_192;
const CLAIM_BYTES: usize = 1_024;
/// Lines that wait to be written; who comes later waits for a place.
const WRITES: usize = 64;
/// How long a process may leave what is written to it unread.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// What is read at once.
const READ_BYTES: usize = 64 * 1024;
/// What nobody listens to is read at 20 MiB a second: a process that writes
/// without end takes no core for itself.
const UNHEARD_BYTES: usize = 1024 * 1024;
const UNHEARD_PAUSE: Duration = Duration::from_millis(50);
/// How long what a process wrote last may take to arrive after its end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A line on its way, and who hears that it was written; nobody, of one that
/// is written even though its call is gone.
struct Write {
    line: String,
    written: Option<oneshot::Sender<()>>,
}

/// A running process.
pub(super) struct Process {
    pub(super) program: LocalProgram,
    pub(super) generation: u64,
    writes: mpsc::Sender<Write>,
    pub(super) listeners: Listeners,
    claims: Mutex<VecDeque<String>>,
    tail: Tail,
    hidden: Hidden,
    control: Mutex<Control>,
    holders: Mutex<Holders>,
    released: Notify,
    ended: watch::Sender<Option<Arc<Ended>>>,
}

/// What keeps a process running.
struct Control {
    /// Open for as long as the process may run: its guard ends it, and all
    /// that it began, once this is closed by whatever end of the daemon.
    pipe: Option<PipeWriter>,
    /// Whether the daemon wanted its end.
    asked: bool,
}

/// The handles of calls on a process.
struct Holders {
    count: usize,
    since: Instant,
}

/// Whether a process is idle.
pub(super) enum Idle {
    Held,
    /// Not for long enough.
    Since(Instant),
    /// It was, and is on its way out.
    Ended,
}

impl Process {
    /// Starts the program under a guard.
    pub(super) fn start(
        launch: &Launch,
        program: LocalProgram,
        generation: u64,
    ) -> Result<Arc<Self>, ProcessError> {
        let directory = program.directory.clone().unwrap_or_else(|| launch.directory.clone());
        let search_path = program.variable("PATH").map(Into::into).or_else(|| launch.variable("PATH"));
        let path = program.find(&directory, &search_path.unwrap_or_default())?;
        let failed = |error: std::io::Error| ProcessError::Start {
            program: program.program.clone(),
            reason: error.to_string(),
        };
        let (mut child, control) = spawn(launch, &program, &path, &directory).map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(std::io::Error::other("its pipes are missing")));
        };
        let (writes, waiting) = mpsc::channel(WRITES);
        let process = Arc::new(Self {
            hidden: Hidden::new(program.environment.iter().map(|(_, value)| value)),
            program,
            generation,
            writes,
            listeners: Listeners::default(),
            claims: Mutex::default(),
            tail: Tail::default(),
            control: Mutex::new(Control { pipe: Some(control), asked: false }),
            holders: Mutex::new(Holders { count: 0, since: Instant::now() }),
            released: Notify::new(),
            ended: watch::Sender::new(None),
        });
        tokio::spawn(process.clone().run(child, (stdin, waiting), stdout, stderr, launch.idle));
        Ok(process)
    }

    async fn run(
        self: Arc<Self>,
        mut child: Child,
        input: (ChildStdin, mpsc::Receiver<Write>),
        stdout: ChildStdout,
        stderr: ChildStderr,
        idle: Duration,
    ) {
        let output = async {
            tokio::join!(
                async {
                    self.hear(stdout).await;
                    // Nothing can be heard of it any more.
                    self.control().pipe = None;
                },
                self.keep_tail(stderr)
            );
        };
        let upkeep = async { tokio::join!(write_all(input.0, input.1), self.end_when_idle(idle)) };
        tokio::pin!(output, upkeep);
        let (mut silent, mut kept) = (false, false);
        let status = loop {
            tokio::select! {
                status = child.wait() => break status,
                () = &mut output, if !silent => silent = true,
                _ = &mut upkeep, if !kept => kept = true,
            }
        };
        if !silent && tokio::time::timeout(LAST_WORDS, output).await.is_err() {
            tracing::debug!(program = self.program.program, "its output stays open after its end");
        }
        let asked = {
            let mut control = self.control();
            control.pipe = None;
            control.asked
        };
        let status = status.ok().and_then(|status| status.code());
        let ended = Ended {
            program: self.program.program.clone(),
            status,
            stderr: self.hidden.take_out(self.tail.text()),
            asked,
            at: Instant::now(),
        };
        tracing::info!(program = ended.program, status, asked, "a local program has ended");
        self.ended.send_replace(Some(Arc::new(ended)));
        self.listeners.close();
    }

    /// Hands on the lines of its output, until that is closed.
    async fn hear(&self, mut stdout: impl AsyncRead + Unpin) {
        let (mut cutter, mut chunk) = (Cutter::default(), vec![0; READ_BYTES]);
        let mut unheard = 0;
        while let Ok(read @ 1..) = stdout.read(&mut chunk).await {
            cutter.push(&chunk[..read], |cut| self.tell(cut));
            unheard = if self.listeners.is_empty() { unheard + read } else { 0 };
            if unheard >= UNHEARD_BYTES {
                unheard = 0;
                tokio::time::sleep(UNHEARD_PAUSE).await;
            }
        }
        if let Some(last) = cutter.rest() {
            self.tell(last);
        }
    }

    fn tell(&self, cut: Cut) {
        match cut {
            Cut::Line(_) if self.listeners.is_empty() => {}
            Cut::Line(line) => self.listeners.tell(&self.hidden.take_out(line).into()),
            Cut::Dropped(bytes) => {
                tracing::warn!(program = self.program.program, bytes, "a line was too long and was dropped");
                self.tail.note(&format!("a line of {bytes} bytes was dropped"));
            }
        }
    }

    async fn keep_tail(&self, mut stderr: impl AsyncRead + Unpin) {
        let (mut chunk, mut unheard) = (vec![0; READ_BYTES / 8], 0);
        while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
            self.tail.push(&chunk[..read]);
            unheard += read;
            if unheard >= UNHEARD_BYTES {
                unheard = 0;
                tokio::time::sleep(UNHEARD_PAUSE).await;
            }
        }
    }

    /// Ends it once no call has held it for so long.
    async fn end_when_idle(&self, limit: Duration) {
        loop {
            let released = self.released.notified();
            match self.end_if_idle(limit) {
                Idle::Held => released.await,
                Idle::Since(since) => tokio::time::sleep_until(since + limit).await,
                Idle::Ended => return,
            }
        }
    }

    /// Decided and done while nobody can take hold of it.
    pub(super) fn end_if_idle(&self, limit: Duration) -> Idle {
        let holders = self.holders();
        if holders.count > 0 {
            return Idle::Held;
        }
        if holders.since.elapsed() < limit {
            return Idle::Since(holders.since);
        }
        self.end();
        Idle::Ended
    }

    /// Has its guard end it; [`Process::over`] says when that has happened.
    pub(super) fn end(&self) {
        let mut control = self.control();
        control.asked |= control.pipe.is_some();
        control.pipe = None;
    }

    /// Whether it is on its way out, or gone.
    pub(super) fn is_ending(&self) -> bool {
        self.control().pipe.is_none()
    }

    pub(super) fn ended(&self) -> Option<Arc<Ended>> {
        self.ended.borrow().clone()
    }

    /// Waits for its end.
    pub(super) async fn over(&self) {
        let mut ended = self.ended.subscribe();
        // The sender is our own, and lives as long as we do.
        let _ = ended.wait_for(Option::is_some).await;
    }

    /// Writes a line, and waits until it is in the process's hands.
    pub(super) async fn write(&self, line: String) -> Result<(), ProcessError> {
        let write = async {
            let (written, confirmed) = oneshot::channel();
            self.writes.send(Write { line, written: Some(written) }).await.ok()?;
            confirmed.await.ok()
        };
        match tokio::time::timeout(WRITE_PATIENCE, write).await {
            Ok(Some(())) => Ok(()),
            Err(_) => Err(ProcessError::Deaf { program: self.program.program.clone() }),
            // It reads no more; it may take a moment until that is its end.
            Ok(None) => {
                let _ = tokio::time::timeout(LAST_WORDS, self.over()).await;
                Err(match self.ended() {
                    Some(ended) => ProcessError::Ended(ended),
                    None => ProcessError::Deaf { program: self.program.program.clone() },
                })
            }
        }
    }

    /// Writes a line that nobody waits for, unless too many wait already.
    pub(super) fn write_last(&self, line: String) {
        if self.writes.try_send(Write { line, written: None }).is_err() {
            tracing::debug!(program = self.program.program, "a farewell was dropped: it does not read");
        }
    }

    /// Whether a request id of the server is claimed for the first time.
    pub(super) fn claim(&self, key: String) -> bool {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        if key.len() > CLAIM_BYTES || claims.contains(&key) {
            return false;
        }
        if claims.len() >= CLAIMS {
            claims.pop_front();
        }
        claims.push_back(key);
        true
    }

    /// A handle of a call, or of one that only listens. None where it is on
    /// its way out.
    pub(super) fn hold(&self, counts: bool) -> Result<Option<Arc<Queue>>, ProcessError> {
        let mut holders = self.holders();
        if self.is_ending() {
            return Ok(None);
        }
        let queue = self.listeners.add(HANDLES).ok_or(ProcessError::Crowded)?;
        holders.count += usize::from(counts);
        Ok(Some(queue))
    }

    pub(super) fn release(&self, queue: &Arc<Queue>, counts: bool) {
        self.listeners.remove(queue);
        if counts {
            let mut holders = self.holders();
            holders.count -= 1;
            holders.since = Instant::now();
            self.released.notify_one();
        }
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holders(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The guard with the program below it, and what keeps both running.
fn spawn(
    launch: &Launch,
    program: &LocalProgram,
    path: &Path,
    directory: &Path,
) -> std::io::Result<(Child, PipeWriter)> {
    let (guarded, control) = std::io::pipe()?;
    // The guard's end alone outlives the exec. Another program that is
    // started at this moment may get it too, where it does nothing: what
    // matters is who holds the other end, which is the daemon alone.
    fcntl_setfd(&guarded, FdFlags::empty())?;
    let child = Command::new(&launch.guard.program)
        .arg0("executor")
        .args(&launch.guard.arguments)
        .arg(guarded.as_raw_fd().to_string())
        .arg(path)
        .args(&program.arguments)
        .env_clear()
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .envs(program.environment.iter().map(|(name, value)| (name, value.expose())))
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok((child, control))
}

/// Writes what comes, one line after the other, until the process reads no
/// more. A line whose call is gone before its turn is not written.
async fn write_all(mut stdin: ChildStdin, mut writes: mpsc::Receiver<Write>) {
    while let Some(Write { mut line, written }) = writes.recv().await {
        if written.as_ref().is_some_and(oneshot::Sender::is_closed) {
            continue;
        }
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
        // Who asked may have gone meanwhile.
        let _ = written.map(|written| written.send(()));
    }
}
