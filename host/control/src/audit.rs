//! What was done, by whom, through which client: a chain that can't be
//! changed unnoticed.

use executor_store::{AuditRecord, AuditRow, Change};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::caller::Caller;
use crate::clock::{parse_rfc3339, rfc3339};
use crate::page::{PageQuery, cursor};
use crate::problem::Problem;
use crate::workspace::Workspace;

/// Records that are looked at at once where not all are wanted.
const SCAN: usize = 1_000;

/// Characters of one argument that a record keeps.
const TEXT_CHARS: usize = 200;

/// Words in a name that say: this is a secret; without what stands between
/// the words of a name.
const SECRET_WORDS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "credential",
    "privatekey",
    "recoverycode",
];

/// Whether a name is that of a secret, however its words are joined.
pub(crate) fn names_secret(name: &str) -> bool {
    let joined: String =
        name.chars().filter(|c| !matches!(c, '-' | '_' | ' ' | '.')).collect::<String>().to_lowercase();
    SECRET_WORDS.iter().any(|word| joined.contains(word))
}

/// Which records to list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// At most so many, 100 by default and 1,000 at most.
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// Those after this number, in place of a cursor.
    pub after: Option<u64>,
    /// Those that hold all of these words, in any case.
    pub query: Option<String>,
    /// Those of one kind, `tool.call`, or of one family, `tool.`.
    pub what: Option<String>,
    /// Those from this time on, RFC 3339.
    pub since: Option<String>,
    /// Those from before this time, RFC 3339.
    pub until: Option<String>,
}

/// Whether the audit log is what was written.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditVerdict {
    /// Whether every record follows from the one before.
    pub holds: bool,
    /// How many do, where all do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// The first record that does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_at: Option<u64>,
    /// What is wrong there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A query, read.
struct Wanted {
    words: Vec<String>,
    what: Option<String>,
    since_ms: i64,
    until_ms: i64,
}

impl Wanted {
    fn read(query: &AuditQuery) -> Result<Self, Problem> {
        let time = |text: &Option<String>, default| match text {
            None => Ok(default),
            Some(text) => parse_rfc3339(text).ok_or_else(|| {
                Problem::invalid(format!("{text:?} is no time")).hint("for example: 2026-11-30T12:00:00Z")
            }),
        };
        let words = query.query.as_deref().unwrap_or_default().split_whitespace();
        Ok(Self {
            words: words.map(str::to_lowercase).collect(),
            what: query.what.clone(),
            since_ms: time(&query.since, i64::MIN)?,
            until_ms: time(&query.until, i64::MAX)?,
        })
    }

    /// Whether it asks for every record.
    fn all(&self) -> bool {
        self.words.is_empty() && self.what.is_none() && (self.since_ms, self.until_ms) == (i64::MIN, i64::MAX)
    }

    fn has(&self, row: &AuditRow) -> bool {
        if !(self.since_ms..self.until_ms).contains(&row.at_ms) {
            return false;
        }
        if let Some(wanted) = &self.what {
            let record: Value = serde_json::from_str(&row.body).unwrap_or_default();
            let what = record["what"].as_str().unwrap_or_default();
            if what != wanted && !(wanted.ends_with('.') && what.starts_with(wanted.as_str())) {
                return false;
            }
        }
        let body = if self.words.is_empty() { String::new() } else { row.body.to_lowercase() };
        self.words.iter().all(|word| body.contains(word))
    }
}

/// A page of the audit log.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditPage {
    /// Its records.
    pub items: Vec<AuditItem>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One record.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditItem {
    /// Its number in the chain.
    pub sequence: u64,
    /// When.
    pub at: String,
    /// The chain's hash after it.
    pub hash: String,
    /// What happened.
    pub record: Value,
}

impl Workspace {
    /// The records, oldest first.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn audit(&self, query: &AuditQuery) -> Result<AuditPage, Problem> {
        let paging = PageQuery { limit: query.limit, cursor: query.cursor.clone() };
        let limit = paging.limit();
        let after = paging.place()?.or(query.after).unwrap_or_default();
        if i64::try_from(after).is_err() {
            return Err(Problem::invalid(format!("there is no record {after}")));
        }
        let wanted = Wanted::read(query)?;
        let scan = if wanted.all() { limit + 1 } else { SCAN };
        let (mut rows, mut last) = (Vec::new(), after);
        while rows.len() <= limit {
            let found = self.executions().audit(last, scan)?;
            let Some(end) = found.last().map(|row| row.sequence) else { break };
            last = end;
            rows.extend(found.into_iter().filter(|row| wanted.has(row)));
        }
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = more.then(|| rows.last().map(|row| cursor(row.sequence))).flatten();
        let item = |row: AuditRow| AuditItem {
            sequence: row.sequence,
            at: rfc3339(row.at_ms),
            hash: row.hash.to_string(),
            record: serde_json::from_str(&row.body).unwrap_or(Value::String(row.body)),
        };
        Ok(AuditPage { items: rows.into_iter().map(item).collect(), next_cursor })
    }

    /// Goes through the chain and says whether it holds.
    ///
    /// # Errors
    /// When it can't be read.
    pub async fn verify_audit(&self) -> Result<AuditVerdict, Problem> {
        self.executions().written().await?;
        let executions = self.executions().clone();
        let verified = tokio::task::spawn_blocking(move || executions.verify_audit());
        let verified = verified.await.map_err(|error| Problem::internal(error.to_string()))?;
        Ok(match verified {
            Ok(records) => AuditVerdict { holds: true, records: Some(records), broken_at: None, why: None },
            Err(fault) => AuditVerdict {
                holds: false,
                records: None,
                broken_at: Some(fault.sequence),
                why: Some(fault.what),
            },
        })
    }

    /// Records a change of what there is or who may do what.
    pub(crate) async fn record(&self, caller: &Caller, what: &str, more: Value) -> Result<(), Problem> {
        self.tell(what, || more.clone());
        let change = audit_change(self.shared.now_ms(), caller, what, more);
        Ok(self.executions().commit(vec![change]).await?)
    }
}

/// One record as a change, to stand in the same commit as what it records.
pub(crate) fn audit_change(at_ms: i64, caller: &Caller, what: &str, more: Value) -> Change {
    Change::Audit(AuditRecord { at_ms, body: audit_body(caller, what, more) })
}

/// The body of a record: what, by whom, through what, and more.
pub(crate) fn audit_body(caller: &Caller, what: &str, more: Value) -> String {
    let mut body = Map::new();
    body.insert("what".into(), what.into());
    body.insert("account".into(), caller.account.as_str().into());
    body.insert("client".into(), caller.client.as_str().into());
    body.insert("surface".into(), caller.surface.as_str().into());
    if let Value::Object(more) = more {
        body.extend(more);
    }
    Value::Object(body).to_string()
}

/// Arguments as a record keeps them: secrets and long texts left out.
pub(crate) fn redacted(arguments: &Value) -> Value {
    match arguments {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let secret = names_secret(name);
                (name.clone(), if secret { json!("[redacted]") } else { redacted(value) })
            };
            Value::Object(fields.iter().map(field).collect())
        }
        Value::Array(items) => Value::Array(items.iter().take(50).map(redacted).collect()),
        Value::String(text) if text.chars().count() > TEXT_CHARS => {
            let kept: String = text.chars().take(TEXT_CHARS).collect();
            json!(format!("{kept}… ({} characters)", text.chars().count()))
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_out_secrets_and_long_texts() {
        let long = "x".repeat(300);
        let found =
            redacted(&json!({"title": "a", "accessToken": "t", "body": {"password": "p", "text": long}}));
        assert_eq!(found["title"], "a");
        assert_eq!(found["accessToken"], "[redacted]");
        assert_eq!(found["body"]["password"], "[redacted]");
        assert!(found["body"]["text"].as_str().is_some_and(|text| text.ends_with("… (300 characters)")));
    }
}
