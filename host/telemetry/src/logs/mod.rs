//! The daemon's log file: one JSON object a line, of bounded size.
//!
//! An event is written into a line where it happens, and put into a bounded
//! queue; a thread writes what is there. A disk that is slow or full costs
//! lines, which are counted and said, and holds up nobody.

mod file;
mod line;
mod rate;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::metrics::metrics;
use file::RotatingFile;
pub use rate::Rate;

/// Lines that may wait for the disk; each has at most 16 KiB.
const QUEUE_LINES: usize = 2_048;
/// How often a writer looks whether lines were dropped that nobody told of.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How large a log may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Files, the one that is written to among them.
    pub files: u32,
}

enum Message {
    Line(String),
    End(SyncSender<()>),
}

/// Turns events into lines.
pub struct LogLayer {
    sender: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

/// The other end: what was logged before it is opened waits.
pub struct Log {
    sender: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
    receiver: Mutex<Option<Receiver<Message>>>,
}

/// A log and the layer that fills it.
pub fn log() -> (LogLayer, Log) {
    let (sender, receiver) = sync_channel(QUEUE_LINES);
    let dropped = Arc::new(AtomicU64::new(0));
    let layer = LogLayer { sender: sender.clone(), dropped: dropped.clone() };
    (layer, Log { sender, dropped, receiver: Mutex::new(Some(receiver)) })
}

impl Log {
    /// Begins to write to a file, which is made where there is none. Its
    /// directory is made for its owner alone.
    ///
    /// # Errors
    /// When the file can't be opened; lines go on to wait then.
    pub fn open(&self, path: &Path, bounds: Bounds) -> io::Result<()> {
        let file = RotatingFile::open(path, bounds)?;
        let Some(receiver) = self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Ok(());
        };
        let dropped = self.dropped.clone();
        std::thread::Builder::new()
            .name("log-writer".into())
            .spawn(move || write(file, &receiver, &dropped))?;
        Ok(())
    }

    /// Waits until all lines that were logged before are written, but no
    /// longer than `patience`.
    pub fn flush(&self, patience: Duration) {
        if self.receiver.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return;
        }
        let begun = Instant::now();
        let (done, written) = sync_channel(1);
        let mut message = Message::End(done);
        while let Err(error) = self.sender.try_send(message) {
            message = match error {
                std::sync::mpsc::TrySendError::Full(message) if begun.elapsed() < patience => message,
                _ => return,
            };
            std::thread::sleep(Duration::from_millis(1));
        }
        // An error means that the patience is at its end, or the thread gone.
        let _ = written.recv_timeout(patience.saturating_sub(begun.elapsed()));
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let line = line::of_event(time::OffsetDateTime::now_utc(), event);
        if self.sender.try_send(Message::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            metrics().telemetry.line_dropped();
        }
    }
}

fn write(mut file: RotatingFile, receiver: &Receiver<Message>, dropped: &AtomicU64) {
    let mut put = |line: &str| match file.write_line(line) {
        Ok(()) => metrics().telemetry.line_written(),
        Err(_) => metrics().telemetry.line_not_written(),
    };
    loop {
        let message = receiver.recv_timeout(LOOK_AGAIN);
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            put(&line::of_loss(time::OffsetDateTime::now_utc(), lost));
        }
        match message {
            Ok(Message::Line(line)) => put(&line),
            // Whoever went away does not want to know.
            Ok(Message::End(done)) => drop(done.try_send(())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use tracing_subscriber::layer::SubscriberExt as _;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn read(path: &Path) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    }

    #[test]
    fn events_become_lines_also_those_before_it_is_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logs/daemon.log");
        let (layer, log) = log();
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(count = 3, name = "a\u{1b}[31m\u{202e}\n{\"forged\":1}", "early");
            log.open(&path, Bounds { file_bytes: 1024 * 1024, files: 2 }).unwrap();
            tracing::warn!(error = %"it broke", on = true, "later");
        });
        log.flush(PATIENCE);
        let lines = read(&path);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!((lines[0]["level"].as_str(), lines[0]["message"].as_str()), (Some("INFO"), Some("early")));
        assert_eq!(lines[0]["fields"]["name"], "a\u{1b}[31m\u{202e}\n{\"forged\":1}");
        assert_eq!(
            (&lines[1]["fields"]["error"], &lines[1]["fields"]["on"]),
            (&"it broke".into(), &true.into())
        );
        let raw = fs::read_to_string(&path).unwrap();
        assert!(!raw.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{raw:?}");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn a_flood_stays_within_the_bound_and_says_what_is_lost() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daemon.log");
        let (layer, log) = log();
        let bounds = Bounds { file_bytes: 64 * 1024, files: 3 };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            // Nobody reads yet, so that some must be dropped.
            for number in 0..QUEUE_LINES + 100 {
                tracing::info!(number, "{}", "x".repeat(200));
            }
            log.open(&path, bounds).unwrap();
            log.flush(PATIENCE);
            for number in 0..20 {
                tracing::info!(number, "{}", "y".repeat(100 * 1024));
            }
        });
        log.flush(PATIENCE);
        let files: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 3, "{files:?}");
        let mut all = Vec::new();
        for file in &files {
            assert!(fs::metadata(file).unwrap().len() <= bounds.file_bytes, "{file:?}");
            all.extend(read(file));
        }
        assert!(all.iter().any(|line| line["fields"]["number"] == 19), "the newest is there");
        let newest = all.iter().find(|line| line["fields"]["number"] == 19).unwrap();
        assert!(newest["message"].as_str().unwrap().len() < 16 * 1024, "a line is cut");
    }

    #[test]
    fn lost_lines_are_counted_in_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daemon.log");
        let (layer, log) = log();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            for _ in 0..QUEUE_LINES + 7 {
                tracing::info!("x");
            }
        });
        log.open(&path, Bounds { file_bytes: 8 * 1024 * 1024, files: 2 }).unwrap();
        log.flush(PATIENCE);
        let lines = read(&path);
        let told = lines.iter().find(|line| line["fields"]["dropped"] == 7);
        assert!(told.is_some(), "{:?}", lines.first());
        assert_eq!(lines.len(), QUEUE_LINES + 1);
    }
}
