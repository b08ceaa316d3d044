//! The daemon of a home: whether it runs, reaching it, starting it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use executor_server::Port;

use crate::context::Context;
use crate::environment;
use crate::failure::{Exit, Failure};
use crate::text;

/// How long a daemon may take until its socket answers.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long it may take to end: running requests get 5 s, then it syncs.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// A log that is longer is set aside when a daemon starts.
const LOG_LIMIT_BYTES: u64 = 8 * 1024 * 1024;
/// As much of a log is shown when a start fails.
const LOG_TAIL_LINES: usize = 20;
const LOG_TAIL_BYTES: u64 = 16 * 1024;

/// The socket of a home's daemon.
pub(crate) fn socket(home: &Path) -> PathBuf {
    home.join("executor.sock")
}

/// The log of a home's daemons.
pub(crate) fn log_file(home: &Path) -> PathBuf {
    home.join("logs").join("daemon.log")
}

/// What a daemon in the background says before it has a log, and where it
/// would say that it broke: a few lines a start.
fn start_file(home: &Path) -> PathBuf {
    home.join("logs").join("start.log")
}

/// A connection to the daemon. Where none runs, one is started or it is an
/// error, as `start` says.
pub(crate) fn connect(context: &Context, start: bool) -> Result<UnixStream, Failure> {
    match try_connect(&context.home)? {
        Some(stream) => Ok(stream),
        None if start => {
            let pid = self::start(context, None)?;
            context.output.say(&context.output.talk.dim(&format!("started the daemon, pid {pid}")));
            try_connect(&context.home)?.ok_or_else(|| {
                Failure::no_daemon("the daemon started and ended at once").hint(log_hint(context))
            })
        }
        None => Err(Failure::no_daemon(format!("no daemon runs for {}", context.home.display()))
            .hint(format!("start it with `{}`", context.command("up")))),
    }
}

/// A connection, or nothing where nobody listens.
pub(crate) fn try_connect(home: &Path) -> Result<Option<UnixStream>, Failure> {
    let socket = socket(home);
    match UnixStream::connect(&socket) {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
            io::ErrorKind::InvalidInput => Err(Failure::usage(format!(
                "{} is too long for a socket's path: the system takes about 100 bytes",
                socket.display()
            ))
            .hint("choose a home with a shorter path")),
            _ => Err(Failure::no_daemon(format!("{} can't be reached: {error}", socket.display()))),
        },
    }
}

/// Starts a daemon in the background and waits until it answers. Gives its
/// process id. The daemon finds its port itself where none is given.
pub(crate) fn start(context: &Context, port: Option<Port>) -> Result<u32, Failure> {
    let log = start_file(&context.home);
    let (file, written_before) = open_log(&context.home, &log)?;
    let mut child = spawn(context, port, file)
        .map_err(|error| Failure::no_daemon(format!("the daemon could not be started: {error}")))?;
    let pid = child.id();
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    while started.elapsed() < START_TIMEOUT {
        if try_connect(&context.home)?.is_some() {
            return Ok(executor_store::lock_owner(&context.home).unwrap_or(pid));
        }
        if let Some(failure) = ended(context, &mut child, &log, written_before) {
            return Err(failure);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    let message = format!("the daemon (pid {pid}) did not answer within {} s", START_TIMEOUT.as_secs());
    Err(Failure::no_daemon(with_tail(&message, &log, written_before)).hint(log_hint(context)))
}

/// Waits until nobody owns the home.
pub(crate) fn wait_until_gone(context: &Context) -> Result<(), Failure> {
    let begun = Instant::now();
    while let Some(pid) = executor_store::lock_owner(&context.home) {
        if begun.elapsed() > STOP_TIMEOUT {
            return Err(Failure::failed(format!(
                "the daemon (pid {pid}) still runs after {} s",
                STOP_TIMEOUT.as_secs()
            ))
            .hint(log_hint(context)));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

pub(crate) fn log_hint(context: &Context) -> String {
    format!("its log is {}", log_file(&context.home).display())
}

fn spawn(context: &Context, port: Option<Port>, log: File) -> io::Result<Child> {
    let errors = log.try_clone()?;
    Command::new(environment::own_program()?)
        .arg("serve")
        .arg("--background")
        .arg("--home")
        .arg(&context.home)
        .args(port.map(|port| format!("--port={port}")))
        .current_dir(&context.home)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
}

/// What to tell when the new daemon has ended. Nothing while it lives, or
/// when it ended because another one owns the home and is about to answer.
fn ended(context: &Context, child: &mut Child, log: &Path, written_before: u64) -> Option<Failure> {
    let status = child.try_wait().ok()??;
    if executor_store::lock_owner(&context.home).is_some() {
        return None;
    }
    let exit = match status.code() {
        Some(2) => Exit::Usage,
        _ => Exit::NoDaemon,
    };
    let message = with_tail("the daemon did not start", log, written_before);
    Some(Failure::new(exit, message).hint(log_hint(context)))
}

/// Opens the log for appending; gives its length so far.
fn open_log(home: &Path, log: &Path) -> Result<(File, u64), Failure> {
    let failed =
        |path: &Path, error: io::Error| Failure::usage(format!("{} can't be used: {error}", path.display()));
    let directory = log.parent().unwrap_or(home);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|error| failed(directory, error).hint("choose another home with --home"))?;
    if fs::metadata(log).is_ok_and(|metadata| metadata.len() > LOG_LIMIT_BYTES) {
        fs::rename(log, log.with_extension("log.1")).map_err(|error| failed(log, error))?;
    }
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(log);
    let file = file.map_err(|error| failed(log, error))?;
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    Ok((file, length))
}

fn with_tail(message: &str, log: &Path, from: u64) -> String {
    let tail = tail(log, from).unwrap_or_default();
    if tail.is_empty() {
        return message.to_owned();
    }
    format!("{message}; the end of its log:\n{tail}")
}

fn tail(log: &Path, from: u64) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(LOG_TAIL_BYTES))))?;
    let mut bytes = Vec::new();
    file.take(LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let clean = text::clean(&text);
    let lines: Vec<&str> = clean.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(LOG_TAIL_LINES)..];
    Ok(shown.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_of_this_start_and_clean() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("daemon.log");
        fs::write(&log, "old\nnew \u{1b}[31mred\n\nlast\n").unwrap();
        assert_eq!(tail(&log, 4).unwrap(), "  new red\n  last");
        let many: String = (0..10_000).map(|number| format!("line {number}\n")).collect();
        fs::write(&log, many).unwrap();
        let shown = tail(&log, 0).unwrap();
        assert_eq!(shown.lines().count(), LOG_TAIL_LINES);
        assert!(shown.ends_with("line 9999"), "{shown}");
    }

    #[test]
    fn nobody_listens_where_there_is_no_socket() {
        let directory = tempfile::tempdir().unwrap();
        assert!(try_connect(directory.path()).unwrap().is_none());
        let listener = std::os::unix::net::UnixListener::bind(socket(directory.path())).unwrap();
        assert!(try_connect(directory.path()).unwrap().is_some());
        drop(listener);
        assert!(try_connect(directory.path()).unwrap().is_none());
        let deep = directory.path().join("x".repeat(120));
        let failure = try_connect(&deep).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.message.contains("too long"), "{}", failure.message);
    }
}
