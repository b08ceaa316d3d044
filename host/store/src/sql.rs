//! How this crate's types stand in columns, and how rows are read.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::digest::Digest;
use crate::error::Fault;
use crate::identifiers::{ExecutionId, InteractionId, InvitationId, PolicyId, SecretId, SessionId, TokenId};
use crate::names::{AccountName, ConnectionName, OrganizationName, SourceName, WorkspaceName};

macro_rules! text_columns {
    ($($name:ident),*) => {
        $(
            impl ToSql for $name {
                fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                    Ok(ToSqlOutput::from(self.as_str()))
                }
            }

            impl FromSql for $name {
                fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                    Self::parse(value.as_str()?).map_err(|error| FromSqlError::Other(error.into()))
                }
            }
        )*
    };
}

text_columns!(
    AccountName,
    OrganizationName,
    SessionId,
    InvitationId,
    WorkspaceName,
    ConnectionName,
    SourceName,
    ExecutionId,
    InteractionId,
    SecretId,
    PolicyId,
    TokenId
);

impl ToSql for Digest {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.as_bytes().as_slice()))
    }
}

impl FromSql for Digest {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let bytes = value.as_blob()?;
        let bytes = bytes
            .try_into()
            .map_err(|_| FromSqlError::InvalidBlobSize { expected_size: 32, blob_size: bytes.len() })?;
        Ok(Self::from_bytes(bytes))
    }
}

/// A row read from left to right, in the order in which the statement lists
/// its columns.
pub(crate) struct Columns<'row, 'statement> {
    row: &'row Row<'statement>,
    next: usize,
}

impl<'row, 'statement> Columns<'row, 'statement> {
    pub(crate) fn of(row: &'row Row<'statement>) -> Self {
        Self { row, next: 0 }
    }

    pub(crate) fn get<T: FromSql>(&mut self) -> Result<T, Fault> {
        let value = self.row.get(self.next)?;
        self.next += 1;
        Ok(value)
    }

    /// Text where it lies, without a copy.
    pub(crate) fn text(&mut self) -> Result<&'row str, Fault> {
        let index = self.next;
        self.next += 1;
        let value = self.row.get_ref(index)?;
        value.as_str().map_err(|error| Fault::corrupt(format!("column {index}: {error}")))
    }

    /// A number that was stored by [`bits`].
    pub(crate) fn unsigned(&mut self) -> Result<u64, Fault> {
        Ok(self.get::<i64>()?.cast_unsigned())
    }

    pub(crate) fn unsigned_option(&mut self) -> Result<Option<u64>, Fault> {
        Ok(self.get::<Option<i64>>()?.map(i64::cast_unsigned))
    }

    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T, Fault> {
        let index = self.next;
        let text = self.text()?;
        serde_json::from_str(text).map_err(|error| Fault::corrupt(format!("column {index}: {error}")))
    }
}

/// SQLite's integers are signed: the same 64 bits, so that none is lost.
pub(crate) fn bits(number: u64) -> i64 {
    number.cast_signed()
}

/// A list as JSON text.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("lists of texts can always be written")
}

/// Every row that a query gives.
pub(crate) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&mut Columns<'_, '_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(&mut Columns::of(row))?);
    }
    Ok(found)
}

/// The first row that a query gives.
pub(crate) fn first<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&mut Columns<'_, '_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    match rows.next()? {
        Some(row) => read(&mut Columns::of(row)).map(Some),
        None => Ok(None),
    }
}

/// Runs a statement and says how many rows it changed.
pub(crate) fn execute(connection: &Connection, sql: &str, params: impl Params) -> Result<usize, Fault> {
    Ok(connection.prepare_cached(sql)?.execute(params)?)
}
