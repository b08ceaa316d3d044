//! What can go wrong in a store, as its callers see it.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::FileError;
use crate::keyring::KeyringError;

/// The outcome of everything in this crate but opening a home.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A failure of the host's own storage. None of these is a guest's fault,
/// except [`StoreError::NotFound`], [`StoreError::Conflict`] and
/// [`StoreError::TooLarge`], which say that a request can't be met.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused a statement; nothing of the transaction was kept.
    #[error("the database failed while {context}")]
    Database {
        /// What was being done, as "reading a tool".
        context: &'static str,
        /// SQLite's own error.
        #[source]
        source: rusqlite::Error,
    },
    /// No space was left for the write. Nothing of its transaction was kept;
    /// later writes are tried again.
    #[error("the disk is full: free some space; what could not be written was not kept")]
    DiskFull,
    /// An earlier write met an I/O error. What the file holds past its last
    /// synced commit is unknown from then on, so that nothing more is written
    /// until the file is opened anew.
    #[error(
        "nothing more is written after an I/O error of the disk: check the disk, then restart the daemon"
    )]
    Stopped,
    /// Something that was stored can't be what was written.
    #[error("stored data is damaged: {what}")]
    Corrupt {
        /// The thing, and how that shows.
        what: String,
    },
    /// A write names something that isn't there.
    #[error("{what} does not exist")]
    NotFound {
        /// The thing.
        what: String,
    },
    /// A write expects something that is no longer so, or that is taken.
    #[error("{what}")]
    Conflict {
        /// The thing, and what it is instead.
        what: String,
    },
    /// A value is over the bound of its kind.
    #[error("{what} is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The thing.
        what: String,
        /// The bound.
        limit_bytes: u64,
    },
    /// A file was written by a newer executor.
    #[error(
        "{} has format {found}, and this executor knows formats up to {known}: use a newer executor",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format that it has.
        found: u32,
        /// The newest format that this build knows.
        known: u32,
    },
    /// The key file isn't the one that the stored secrets were sealed with.
    #[error(
        "{} does not open the stored secrets: {what}; put back the key they were stored with",
        path.display()
    )]
    WrongKey {
        /// The key file.
        path: PathBuf,
        /// In which way it is wrong.
        what: String,
    },
    /// The key is in the keyring, which can't be asked for it now.
    #[error("the key of the secrets is in the system's keyring, and {why}")]
    KeyringUnavailable {
        /// Why it can't.
        why: KeyringError,
    },
    /// The keyring took no key; where it was before it is still.
    #[error("the key of the secrets can't be put into the system's keyring: {why}")]
    KeyringRefused {
        /// Why it didn't.
        why: KeyringError,
    },
    /// Our own code broke in the middle of a write; nothing of its transaction
    /// was kept, and others are not touched by it.
    #[error("the executor's own code broke while {context}: nothing of it was kept; please report it")]
    Broken {
        /// What was being done.
        context: &'static str,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes")]
    Random(#[source] getrandom::Error),
    /// A file beside the databases could not be used.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl StoreError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io { path: path.to_owned(), source },
        }
    }
}

impl From<FileError> for StoreError {
    fn from(error: FileError) -> Self {
        Self::io(&error.path, error.source)
    }
}

/// What a piece of work on a connection ends with, before the place that ran
/// it has said what was being done.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl Fault {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Store(StoreError::Corrupt { what: what.into() })
    }

    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::Store(StoreError::NotFound { what: what.into() })
    }

    pub(crate) fn conflict(what: impl Into<String>) -> Self {
        Self::Store(StoreError::Conflict { what: what.into() })
    }

    pub(crate) fn broken(context: &'static str) -> Self {
        Self::Store(StoreError::Broken { context })
    }

    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Self::Store(StoreError::Broken { .. }))
    }

    /// Whether the file can't be trusted to hold what was written: a failed
    /// read, write or sync, or pages that make no sense.
    pub(crate) fn ends_writing(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, SystemIoFailure};
        match self {
            Self::Sql(error) => {
                matches!(error.sqlite_error_code(), Some(SystemIoFailure | DatabaseCorrupt | NotADatabase))
            }
            Self::Store(_) => false,
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Sql(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::Store(error) => matches!(error, StoreError::DiskFull),
        }
    }

    pub(crate) fn violates_constraint(error: &rusqlite::Error) -> bool {
        error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
    }

    pub(crate) fn into_error(self, context: &'static str) -> StoreError {
        use rusqlite::{Error, ErrorCode};
        let source = match self {
            Self::Store(error) => return error,
            Self::Sql(source) => source,
        };
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => return StoreError::DiskFull,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                return StoreError::Corrupt { what: format!("{source}, while {context}") };
            }
            _ => {}
        }
        match source {
            Error::FromSqlConversionFailure(..)
            | Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..) => StoreError::Corrupt { what: format!("{source}, while {context}") },
            source => StoreError::Database { context, source },
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<FileError> for Fault {
    fn from(error: FileError) -> Self {
        Self::Store(error.into())
    }
}
