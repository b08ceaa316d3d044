//! The credentials, or none, with which a source is called.

use std::sync::Arc;

use rusqlite::params;

use super::{AuthMethodRow, Workspace, sources};
use crate::error::{Fault, Result};
use crate::identifiers::SecretId;
use crate::names::{ConnectionName, SourceName};
use crate::once::{self, Once};
use crate::sql::{self, Columns, json};

/// One connection. The secrets themselves are the installation's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRow {
    /// The source that it is for.
    pub source: SourceName,
    /// Its name, unique within the source.
    pub name: ConnectionName,
    /// The auth methods that it serves.
    pub methods: Vec<String>,
    /// The variables of these methods, and the secret that each one holds.
    pub variables: Vec<(String, SecretId)>,
    /// The origins that its person pinned: the credential goes nowhere else.
    pub origins: Vec<String>,
    /// Whether it can be used.
    pub state: String,
    /// What was authorized by OAuth, as JSON; none where it was not.
    pub oauth: Option<String>,
    /// Its auth methods as they were when it was added; none of a build before
    /// they were kept.
    pub auth: Vec<AuthMethodRow>,
    /// When it was added.
    pub created_ms: i64,
}

impl Workspace {
    /// Adds a connection.
    ///
    /// # Errors
    /// [`crate::StoreError::NotFound`] when there is no such source, and
    /// [`crate::StoreError::Conflict`] when it has a connection of that name.
    pub async fn add_connection(&self, row: ConnectionRow, once: Option<Once>) -> Result<()> {
        self.write("adding a connection", move |connection| {
            let source = sources::number(connection, &row.source)?;
            let sql = "INSERT INTO connections (source, name, methods, variables, origins, state,
                oauth, auth, created_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                ON CONFLICT DO NOTHING";
            let params = params![
                source,
                row.name,
                json(&row.methods),
                json(&row.variables),
                json(&row.origins),
                row.state,
                row.oauth,
                json(&row.auth),
                row.created_ms
            ];
            if sql::execute(connection, sql, params)? == 0 {
                return Err(Fault::conflict(format!("{} has a connection {} already", row.source, row.name)));
            }
            once::put(connection, once.as_ref(), &format!("{}/{}", row.source, row.name))
        })
        .await
    }

    /// Changes how a connection stands, and what was authorized.
    ///
    /// # Errors
    /// [`crate::StoreError::NotFound`] when there is none of that name.
    pub async fn update_connection(
        &self,
        source: &SourceName,
        name: &ConnectionName,
        state: &str,
        oauth: Option<String>,
    ) -> Result<()> {
        let (source, name, state) = (source.clone(), name.clone(), state.to_owned());
        self.write("changing a connection", move |connection| {
            let sql = "UPDATE connections SET state = ?3, oauth = ?4
                WHERE source = (SELECT id FROM sources WHERE name = ?1) AND name = ?2";
            if sql::execute(connection, sql, params![source, name, state, oauth])? == 0 {
                return Err(Fault::not_found(format!("the connection {source}/{name}")));
            }
            Ok(())
        })
        .await
    }

    /// Gives a connection other values.
    ///
    /// # Errors
    /// As [`Self::update_connection`].
    pub async fn set_variables(
        &self,
        source: &SourceName,
        name: &ConnectionName,
        variables: Vec<(String, SecretId)>,
    ) -> Result<()> {
        let (source, name) = (source.clone(), name.clone());
        self.write("changing a connection", move |connection| {
            let sql = "UPDATE connections SET variables = ?3
                WHERE source = (SELECT id FROM sources WHERE name = ?1) AND name = ?2";
            if sql::execute(connection, sql, params![source, name, json(&variables)])? == 0 {
                return Err(Fault::not_found(format!("the connection {source}/{name}")));
            }
            Ok(())
        })
        .await
    }

    /// The connections of a source, or all, by source and name.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn connections(&self, source: Option<&SourceName>) -> Result<Vec<ConnectionRow>> {
        let read = || {
            self.read("listing connections", |connection| {
                let sql = "SELECT sources.name, connections.name, methods, variables,
                    connections.origins, state, oauth, connections.auth, connections.created_ms
                    FROM connections JOIN sources ON sources.id = connections.source
                    WHERE ?1 IS NULL OR sources.name = ?1
                    ORDER BY sources.name, connections.name";
                sql::all(connection, sql, [source], read_row)
            })
        };
        let Some(source) = source else {
            return read();
        };
        let rows = self.inner.kept.get(|rows| &mut rows.connections, source, || read().map(Some))?;
        Ok(rows.map(Arc::unwrap_or_clone).unwrap_or_default())
    }

    /// One connection.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn connection(&self, source: &SourceName, name: &ConnectionName) -> Result<Option<ConnectionRow>> {
        self.read("reading a connection", |connection| {
            sql::first(connection, ONE, params![source, name], read_row)
        })
    }

    /// Removes a connection and returns what it was. Its secrets stay.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove_connection(
        &self,
        source: &SourceName,
        name: &ConnectionName,
    ) -> Result<Option<ConnectionRow>> {
        let (source, name) = (source.clone(), name.clone());
        self.write("removing a connection", move |connection| {
            let found = sql::first(connection, ONE, params![source, name], read_row)?;
            let sql = "DELETE FROM connections
                WHERE source = (SELECT id FROM sources WHERE name = ?1) AND name = ?2";
            sql::execute(connection, sql, params![source, name])?;
            Ok(found)
        })
        .await
    }
}

const ONE: &str = "SELECT sources.name, connections.name, methods, variables, connections.origins,
    state, oauth, connections.auth, connections.created_ms
    FROM connections JOIN sources ON sources.id = connections.source
    WHERE sources.name = ?1 AND connections.name = ?2";

fn read_row(row: &mut Columns<'_, '_>) -> std::result::Result<ConnectionRow, Fault> {
    Ok(ConnectionRow {
        source: row.get()?,
        name: row.get()?,
        methods: row.json()?,
        variables: row.json()?,
        origins: row.json()?,
        state: row.get()?,
        oauth: row.get()?,
        auth: row.json()?,
        created_ms: row.get()?,
    })
}
