//! How processes end, and why one gives nothing.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::time::Instant;

use super::{ENDS, PROCESSES};

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    /// The program.
    pub program: String,
    /// Its exit status; of one that a signal ended, 128 and the signal.
    pub status: Option<i32>,
    /// The last that it wrote to its standard error.
    pub stderr: String,
    /// Whether it was the daemon that ended it.
    pub(super) asked: bool,
    pub(super) at: Instant,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ended", self.program)?;
        match self.status {
            Some(status @ 129..=192) => write!(f, " by signal {}", status - 128)?,
            Some(status) => write!(f, " with status {status}")?,
            None => {}
        }
        // The end says most where all of it is too long.
        let skipped = self.stderr.chars().count().saturating_sub(SHOWN_CHARS);
        let shown: String = self.stderr.chars().skip(skipped).collect();
        match shown.as_str() {
            "" => f.write_str(", and wrote nothing to its standard error"),
            shown => write!(f, "; it wrote last: {shown}"),
        }
    }
}

/// Characters of a program's standard error that a message shows.
const SHOWN_CHARS: usize = 2_000;

/// Why a process gives nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ProcessError {
    /// This executor was not told how to start any.
    #[error("this executor runs no local programs")]
    Unsupported,
    /// There is no such program.
    #[error("there is no program {program} in {search_path}")]
    NotFound {
        /// Its name.
        program: String,
        /// Where it was looked for.
        search_path: String,
    },
    /// There is no such file.
    #[error("there is no file {path}")]
    NoFile {
        /// Where.
        path: PathBuf,
    },
    /// A file that can't be run.
    #[error("{path} is not executable")]
    NotExecutable {
        /// Which.
        path: PathBuf,
    },
    /// It has nowhere to start.
    #[error("{directory} is no directory")]
    NoDirectory {
        /// What was named.
        directory: PathBuf,
    },
    /// It can't be started.
    #[error("{program} can't be started: {reason}")]
    Start {
        /// The program.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// It has ended.
    #[error("{0}")]
    Ended(Arc<Ended>),
    /// It ended too often.
    #[error("{ended}. It ended {ENDS} times within a minute, and is not started again for a minute")]
    Restless {
        /// The last time.
        ended: Arc<Ended>,
    },
    /// It reads nothing.
    #[error("{program} does not read what is written to it")]
    Deaf {
        /// The program.
        program: String,
    },
    /// Many lines were not read.
    #[error("more than 64 MiB of lines waited to be read, and were dropped")]
    Lost,
    /// Too many calls hold it.
    #[error("too many calls listen to this process")]
    Crowded,
    /// Too many run.
    #[error("{PROCESSES} local programs run already")]
    Many,
}

impl ProcessError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Deaf { .. } => "timeout",
            Self::Lost => "lines-lost",
            Self::Crowded => "denied",
            _ => "process-failed",
        }
    }

    /// Whether the same may go well later.
    pub fn retryable(&self) -> bool {
        !matches!(self, Self::Unsupported)
    }

    /// How the process ended, where that is what is wrong.
    pub(crate) fn ended(&self) -> Option<&Ended> {
        match self {
            Self::Ended(ended) | Self::Restless { ended } => Some(ended),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_says_how_and_why() {
        let said = |status, stderr: &str| {
            let stderr = stderr.to_owned();
            let at = Instant::now();
            Ended { program: "server".into(), status, stderr, asked: false, at }.to_string()
        };
        assert_eq!(said(Some(3), "no key"), "server ended with status 3; it wrote last: no key");
        assert_eq!(said(Some(137), ""), "server ended by signal 9, and wrote nothing to its standard error");
        let long = said(None, &format!("{}end", "é".repeat(SHOWN_CHARS)));
        assert!(long.chars().count() < SHOWN_CHARS + 60 && long.ends_with("éend"), "{long}");
    }
}
