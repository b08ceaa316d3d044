//! What was done, by whom, through which client: a chain that can't be
//! changed unnoticed.

use executor_store::{AuditRecord, Change};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::page::{PageQuery, cursor};
use crate::problem::Problem;
use crate::workspace::Workspace;

/// Characters of one argument that a record keeps.
const TEXT_CHARS: usize = 200;

/// Words in an argument's name that say: this is a secret.
const SECRET_WORDS: [&str; 8] =
    ["password", "passwd", "secret", "token", "api_key", "apikey", "credential", "private_key"];

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
        let mut rows = self.executions().audit(after, limit + 1)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = more.then(|| rows.last().map(|row| cursor(row.sequence))).flatten();
        let item = |row: executor_store::AuditRow| AuditItem {
            sequence: row.sequence,
            at: rfc3339(row.at_ms),
            hash: row.hash.to_string(),
            record: serde_json::from_str(&row.body).unwrap_or(Value::String(row.body)),
        };
        Ok(AuditPage { items: rows.into_iter().map(item).collect(), next_cursor })
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
    let mut body = Map::new();
    body.insert("what".into(), what.into());
    body.insert("account".into(), caller.account.as_str().into());
    body.insert("client".into(), caller.client.as_str().into());
    body.insert("surface".into(), caller.surface.as_str().into());
    if let Value::Object(more) = more {
        body.extend(more);
    }
    Change::Audit(AuditRecord { at_ms, body: Value::Object(body).to_string() })
}

/// Arguments as a record keeps them: secrets and long texts left out.
pub(crate) fn redacted(arguments: &Value) -> Value {
    match arguments {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let lower = name.to_ascii_lowercase();
                let secret = SECRET_WORDS.iter().any(|word| lower.contains(word));
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
