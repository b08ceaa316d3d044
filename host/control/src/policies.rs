//! Policies: allow, approve or block, by tool pattern.
//!
//! Within a level the first rule that matches decides; between levels the
//! stricter decision stands; where no rule matches, the source's own default
//! does: reads are allowed, everything else asks. A write that a refresh
//! brought asks until a person has seen it, unless a rule allows this very
//! version.

use std::sync::{Arc, PoisonError};

use executor_store::{Digest, PolicyId, PolicyRow, UnreviewedRow};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::invoke::subject;
use crate::once::Once;
use crate::page::{Page, PageQuery};
use crate::pattern::Pattern;
use crate::problem::{Problem, ProblemKind};
use crate::reviews::novelty;
use crate::workspace::Workspace;

/// Levels from the outermost in.
const LEVELS: [&str; 3] = ["organization", "workspace", "connection"];

/// What a policy says; the later the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The call goes ahead.
    Allow,
    /// A person is asked first.
    Approve,
    /// The call is refused, and the tool is hidden.
    Block,
}

impl Action {
    fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Approve => "approve",
            Self::Block => "block",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Allow, Self::Approve, Self::Block].into_iter().find(|action| action.as_str() == text)
    }
}

/// One rule.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PolicyView {
    /// Its id.
    pub id: String,
    /// Its level.
    pub level: String,
    /// The tools it is about.
    pub pattern: String,
    /// What it says.
    pub action: Action,
    /// Its place within the level, from 0.
    pub position: i64,
    /// The connection it is about: `source/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// Why it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether it holds for one version of a tool alone.
    pub pinned: bool,
    /// Who wrote it, through which client: `local via cli`.
    pub created_by: String,
    /// When.
    pub created_at: String,
}

/// A rule to add.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddPolicy {
    /// The tools it is about: `github.issues.*`.
    pub pattern: String,
    /// What it says.
    pub action: Action,
    /// Its level; the workspace's by default.
    #[serde(default)]
    pub level: Option<String>,
    /// The connection it is about: `source/name`.
    #[serde(default)]
    pub connection: Option<String>,
    /// Its place within the level; before the broader rules by default.
    #[serde(default)]
    pub position: Option<i64>,
    /// Why it is there.
    #[serde(default)]
    pub note: Option<String>,
}

/// What the policies say of one tool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PolicyTest {
    /// The tool.
    pub path: String,
    /// The decision.
    pub action: Action,
    /// The rule that decided; none: the source's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<PolicyView>,
    /// In words.
    pub reason: String,
    /// When a refresh brought it, where that is why it asks: the rule that is
    /// named would allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreviewed_since: Option<String>,
    /// What each level says.
    pub levels: Vec<LevelView>,
}

/// What one level says.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct LevelView {
    /// The level.
    pub level: &'static str,
    /// What its first matching rule says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// That rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// What a decision is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) path: &'a str,
    pub(crate) digest: Option<&'a Digest>,
    /// `source/name`
    pub(crate) connection: Option<&'a str>,
    pub(crate) read_only: bool,
    /// What a refresh brought of it, where nobody has seen that.
    pub(crate) unreviewed: Option<&'a UnreviewedRow>,
}

/// A decision and why.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    pub(crate) action: Action,
    pub(crate) rule: Option<PolicyRow>,
    /// Why it asks, where the rule would allow.
    pub(crate) unreviewed: Option<UnreviewedRow>,
    pub(crate) levels: Vec<LevelView>,
}

impl Decision {
    pub(crate) fn reason(&self) -> String {
        let said =
            |rule: &PolicyRow| format!("{} rule {} ({} {})", rule.level, rule.id, rule.action, rule.pattern);
        match (&self.rule, &self.unreviewed) {
            (Some(rule), Some(unreviewed)) => {
                format!("{}, whatever {} says", novelty(unreviewed), said(rule))
            }
            (Some(rule), None) => said(rule),
            (None, _) if self.action == Action::Allow => "no rule matches, and the tool only reads".into(),
            (None, _) => "no rule matches, and the tool may change something".into(),
        }
    }

    pub(crate) fn rule_id(&self) -> Option<String> {
        self.rule.as_ref().map(|rule| rule.id.to_string())
    }
}

/// The rules of a workspace, ready to be asked.
pub(crate) struct Policies(Vec<Rule>);

struct Rule {
    pattern: Pattern,
    action: Action,
    row: PolicyRow,
}

impl Policies {
    pub(crate) fn load(rows: Vec<PolicyRow>) -> Result<Self, Problem> {
        let rule = |row: PolicyRow| {
            let pattern = row.pattern.parse().map_err(|error| damaged(&row, &error))?;
            let action = Action::parse(&row.action).ok_or_else(|| damaged(&row, &row.action))?;
            Ok(Rule { pattern, action, row })
        };
        Ok(Self(rows.into_iter().map(rule).collect::<Result<_, Problem>>()?))
    }

    /// What the rules say of a call. Without a connection, rules about one do
    /// not speak.
    pub(crate) fn decide(&self, subject: Subject<'_>) -> Decision {
        let mut decision =
            Decision { action: Action::Allow, rule: None, unreviewed: None, levels: Vec::new() };
        // A rule for one version was written by somebody who saw it.
        let mut seen = false;
        for level in LEVELS {
            let first = self.0.iter().find(|rule| rule.row.level == level && rule.speaks_of(subject));
            decision.levels.push(LevelView {
                level,
                action: first.map(|rule| rule.action),
                rule: first.map(|rule| rule.row.id.to_string()),
            });
            seen |= first.is_some_and(|rule| rule.row.tool_digest.is_some());
            if let Some(rule) = first
                && (decision.rule.is_none() || rule.action > decision.action)
            {
                decision.action = rule.action;
                decision.rule = Some(rule.row.clone());
            }
        }
        if decision.rule.is_none() && !subject.read_only {
            decision.action = Action::Approve;
        }
        if decision.action == Action::Allow
            && !seen
            && let Some(unreviewed) = subject.unreviewed
        {
            decision.action = Action::Approve;
            decision.unreviewed = Some(unreviewed.clone());
        }
        decision
    }

    /// Where a new rule of this level goes: before the first broader one.
    fn place(&self, level: &str, pattern: &Pattern) -> i64 {
        let rules = self.0.iter().filter(|rule| rule.row.level == level);
        i64::try_from(pattern.placement(rules.map(|rule| &rule.pattern))).unwrap_or(0)
    }
}

impl Rule {
    fn speaks_of(&self, subject: Subject<'_>) -> bool {
        self.pattern.matches(subject.path)
            && self.row.connection.as_deref().is_none_or(|connection| subject.connection == Some(connection))
            && self.row.tool_digest.as_ref().is_none_or(|digest| subject.digest == Some(digest))
    }
}

fn damaged(row: &PolicyRow, reason: &dyn std::fmt::Display) -> Problem {
    Problem::internal(format!("policy {} is damaged: {reason}", row.id))
}

impl Workspace {
    pub(crate) fn rules(&self) -> Arc<Policies> {
        self.policies.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The rules, in their order.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn policies(&self, query: &PageQuery) -> Result<Page<PolicyView>, Problem> {
        let views = self.rules().0.iter().map(|rule| policy_view(rule.action, &rule.row)).collect();
        query.page(views, |view: &PolicyView| view.id.clone())
    }

    /// Adds a rule.
    ///
    /// # Errors
    /// When the pattern or the level is none.
    pub async fn add_policy(
        &self,
        caller: &Caller,
        request: AddPolicy,
        once: Option<Once>,
    ) -> Result<PolicyView, Problem> {
        if let Some(id) = Once::earlier(once.as_ref(), |once| self.store.once(once))? {
            let rules = self.rules();
            let known = rules.0.iter().find(|rule| rule.row.id.as_str() == id);
            return known
                .map(|rule| policy_view(rule.action, &rule.row))
                .ok_or_else(|| Problem::not_found("policy", &id));
        }
        let row = self.policy_row(caller, request)?;
        self.write_policy(caller, row, once).await
    }

    pub(crate) async fn write_policy(
        &self,
        caller: &Caller,
        mut row: PolicyRow,
        once: Option<Once>,
    ) -> Result<PolicyView, Problem> {
        let action = Action::parse(&row.action).ok_or_else(|| damaged(&row, &row.action))?;
        row.position = self.store.put_policy(row.clone(), once.map(Once::into_store)).await?;
        self.reload_policies()?;
        let what = json!({
            "policy": row.id.to_string(), "pattern": row.pattern, "action": row.action,
            "level": row.level, "connection": row.connection,
        });
        self.record(caller, "policy.add", what).await?;
        Ok(policy_view(action, &row))
    }

    fn policy_row(&self, caller: &Caller, request: AddPolicy) -> Result<PolicyRow, Problem> {
        let pattern: Pattern = request.pattern.parse().map_err(|error| {
            Problem::invalid(format!("{error}")).hint("for example: github.issues.create, github.*, *")
        })?;
        let level = request.level.unwrap_or_else(|| LEVELS[1].to_owned());
        if !LEVELS.contains(&level.as_str()) {
            return Err(Problem::invalid(format!("{level:?} is no level"))
                .hint(format!("the levels are {}", LEVELS.join(", "))));
        }
        if level == LEVELS[2] && request.connection.is_none() {
            return Err(Problem::invalid("a rule of a connection names it").hint("--connection SOURCE/NAME"));
        }
        Ok(PolicyRow {
            id: PolicyId::new(self.shared.now_ms(), random()),
            position: request.position.unwrap_or_else(|| self.rules().place(&level, &pattern)),
            level,
            connection: request.connection,
            pattern: pattern.to_string(),
            action: request.action.as_str().into(),
            tool_digest: None,
            note: request.note,
            created_by: caller.signature(),
            created_ms: self.shared.now_ms(),
        })
    }

    /// The rule that an approval "from now on" writes: for this very version
    /// of the tool, through this connection.
    pub(crate) fn remembered_policy(
        &self,
        caller: &Caller,
        path: &str,
        digest: &Digest,
        connection: Option<String>,
    ) -> PolicyRow {
        PolicyRow {
            id: PolicyId::new(self.shared.now_ms(), random()),
            level: LEVELS[1].into(),
            connection,
            position: 0,
            pattern: path.to_owned(),
            action: Action::Allow.as_str().into(),
            tool_digest: Some(*digest),
            note: Some("allowed from now on, at an approval".into()),
            created_by: caller.signature(),
            created_ms: self.shared.now_ms(),
        }
    }

    /// Removes a rule.
    ///
    /// # Errors
    /// When there is none of that id.
    pub async fn remove_policy(&self, caller: &Caller, id: &str) -> Result<(), Problem> {
        let parsed = PolicyId::parse(id).map_err(|_| Problem::not_found("policy", id))?;
        if !self.store.remove_policy(&parsed).await? {
            return Err(Problem::not_found("policy", id).hint("`executor policies list` shows them"));
        }
        self.reload_policies()?;
        self.record(caller, "policy.remove", json!({"policy": id})).await
    }

    /// Says which rule decides of a tool.
    ///
    /// # Errors
    /// When there is no such tool.
    pub fn test_policy(&self, path: &str, connection: Option<&str>) -> Result<PolicyTest, Problem> {
        let tool = self.tool(path)?;
        let source = path.split('.').next().unwrap_or_default();
        let connection = connection
            .map(|name| if name.contains('/') { name.to_owned() } else { format!("{source}/{name}") });
        let unreviewed = self.unreviewed_version(&tool)?;
        let subject = Subject { connection: connection.as_deref(), ..subject(&tool, unreviewed.as_ref()) };
        let decision = self.rules().decide(subject);
        let rule = decision.rule.as_ref().map(|row| {
            let action = Action::parse(&row.action).ok_or_else(|| damaged(row, &row.action))?;
            Ok::<_, Problem>(policy_view(action, row))
        });
        Ok(PolicyTest {
            path: path.to_owned(),
            action: decision.action,
            reason: decision.reason(),
            rule: rule.transpose()?,
            unreviewed_since: decision.unreviewed.as_ref().map(|row| rfc3339(row.since_ms)),
            levels: decision.levels,
        })
    }

    fn reload_policies(&self) -> Result<(), Problem> {
        // Read under the lock: of two changes at one time, the later reader
        // installs the later rules.
        let mut policies = self.policies.write().unwrap_or_else(PoisonError::into_inner);
        *policies = Arc::new(Policies::load(self.store.policies()?)?);
        Ok(())
    }

    /// The problem of a call that a policy blocks.
    pub(crate) fn blocked(path: &str, decision: &Decision) -> Problem {
        Problem::new(
            ProblemKind::Denied,
            "denied",
            format!("{path} is blocked by policy: {}", decision.reason()),
        )
        .hint("`executor policies test` shows the rules; `executor policies remove` takes one away")
    }
}

fn policy_view(action: Action, row: &PolicyRow) -> PolicyView {
    PolicyView {
        id: row.id.to_string(),
        level: row.level.clone(),
        pattern: row.pattern.clone(),
        action,
        position: row.position,
        connection: row.connection.clone(),
        note: row.note.clone(),
        pinned: row.tool_digest.is_some(),
        created_by: row.created_by.clone(),
        created_at: rfc3339(row.created_ms),
    }
}

/// Randomness for an id.
pub(crate) fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system gives randomness");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(level: &str, pattern: &str, action: &str) -> PolicyRow {
        PolicyRow {
            id: PolicyId::new(0, random()),
            level: level.into(),
            connection: None,
            position: 0,
            pattern: pattern.into(),
            action: action.into(),
            tool_digest: None,
            note: None,
            created_by: "local".into(),
            created_ms: 0,
        }
    }

    /// One rule of a case: `[level:]pattern=action[@connection][#digest]`.
    fn parsed(text: &str) -> PolicyRow {
        let (level, text) = text.split_once(':').unwrap_or((LEVELS[1], text));
        let (text, digest) = text.split_once('#').map_or((text, None), |(text, name)| (text, Some(name)));
        let (text, connection) = text.split_once('@').map_or((text, None), |(text, name)| (text, Some(name)));
        let (pattern, action) = text.split_once('=').unwrap();
        PolicyRow {
            connection: connection.map(str::to_owned),
            tool_digest: digest.map(|name| Digest::of(name.as_bytes())),
            ..rule(level, pattern, action)
        }
    }

    fn decided(rules: &str, call: &str) -> Action {
        let mut rows: Vec<PolicyRow> =
            rules.split(',').map(str::trim).filter(|text| !text.is_empty()).map(parsed).collect();
        // As the store gives them: level by level.
        rows.sort_by_key(|row| LEVELS.iter().position(|level| *level == row.level));
        let (writes, call) = call.strip_prefix('!').map_or((false, call), |call| (true, call));
        let (unseen, call) = call.strip_prefix('~').map_or((false, call), |call| (true, call));
        let (call, digest) = call.split_once('#').map_or((call, None), |(call, name)| (call, Some(name)));
        let (path, connection) = call.split_once('@').map_or((call, None), |(path, name)| (path, Some(name)));
        let digest = digest.map(|name| Digest::of(name.as_bytes()));
        let unreviewed = unseen.then(|| UnreviewedRow {
            name: path.to_owned(),
            digest: digest.unwrap_or_else(|| Digest::of(b"any")),
            changed: false,
            request_before: None,
            since_ms: 0,
        });
        let unreviewed = unreviewed.as_ref();
        let subject = Subject { path, digest: digest.as_ref(), connection, read_only: !writes, unreviewed };
        Policies::load(rows).unwrap().decide(subject).action
    }

    #[test]
    fn the_table_of_cases_holds() {
        let mut cases = 0;
        for line in include_str!("policies_cases.txt").lines() {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let parts: Vec<&str> = line.split('|').map(str::trim).collect();
            let [rules, call, expect] = parts.as_slice() else { panic!("{line}") };
            assert_eq!(decided(rules, call).as_str(), *expect, "{line}");
            cases += 1;
        }
        assert!(cases >= 60, "{cases} cases");
    }
}
