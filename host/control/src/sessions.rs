//! Sessions: how people who signed in show who they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use executor_store::{Digest, SessionId, SessionRow};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::caller::{Caller, Surface};
use crate::clock::rfc3339;
use crate::control::Control;
use crate::organizations::{About, account_name};
use crate::page::{Page, PageQuery};
use crate::passwords::Password;
use crate::policies::random;
use crate::problem::Problem;
use crate::tokens::{expect_speaks, new_secret};

/// What a session's secret begins with, so that a leaked one can be
/// recognised.
const PREFIX: &str = "exs_";
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How long a session lasts, and how long one that is not used.
const LIFETIME_MS: i64 = 30 * DAY_MS;
const IDLE_MS: i64 = 7 * DAY_MS;
/// A use is recorded when the last one is older than this.
const TOUCH_AFTER_MS: i64 = 60_000;
/// Sessions of one account; the one that was unused for longest goes first.
const LIMIT: usize = 50;

/// A session, without its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SessionView {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub account: String,
    /// Through which client.
    pub client: String,
    /// Whether it is the one that asks.
    pub current: bool,
    /// When it began.
    pub created_at: String,
    /// When it was last shown, to the minute.
    pub last_used_at: String,
    /// When it ends at the latest.
    pub expires_at: String,
}

/// Who wants in.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// The account.
    pub account: String,
    /// Its password.
    pub password: Password,
}

/// A session that began. Its secret is given this once.
pub struct SignedIn {
    /// The session.
    pub session: SessionView,
    /// What the cookie holds.
    pub secret: String,
    /// How long it may be kept.
    pub lifetime_seconds: i64,
}

/// The sessions of an installation in memory, by the digests of their secrets.
#[derive(Default)]
pub(crate) struct Sessions(RwLock<HashMap<Digest, Arc<Known>>>);

struct Known {
    row: SessionRow,
    used_ms: Mutex<i64>,
}

impl Known {
    fn used_ms(&self) -> i64 {
        *self.used_ms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn good_at(&self, now_ms: i64) -> bool {
        now_ms < self.row.expires_ms && now_ms - self.used_ms() < IDLE_MS
    }

    /// Whether this use is worth a write.
    fn touch(&self, now_ms: i64) -> bool {
        let mut used_ms = self.used_ms.lock().unwrap_or_else(PoisonError::into_inner);
        let stale = now_ms - *used_ms >= TOUCH_AFTER_MS;
        if stale {
            *used_ms = now_ms;
        }
        stale
    }

    fn view(&self, caller: &Caller) -> SessionView {
        SessionView {
            id: self.row.id.to_string(),
            account: self.row.account.clone(),
            client: self.row.client.clone(),
            current: caller.session.as_ref() == Some(&self.row.id),
            created_at: rfc3339(self.row.created_ms),
            last_used_at: rfc3339(self.used_ms()),
            expires_at: rfc3339(self.row.expires_ms),
        }
    }
}

impl Sessions {
    pub(crate) fn load(rows: Vec<SessionRow>) -> Self {
        let known = rows.into_iter().map(|row| (row.digest, Arc::new(Known::new(row))));
        Self(RwLock::new(known.collect()))
    }

    fn of_secret(&self, secret: &str, now_ms: i64) -> Option<Arc<Known>> {
        // As with tokens: 256 random bits are found by their digest.
        let digest = Digest::of(secret.as_bytes());
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&digest).cloned()?;
        known.good_at(now_ms).then_some(known)
    }

    fn of_account(&self, account: &str, now_ms: i64) -> Vec<Arc<Known>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let ours = |known: &&Arc<Known>| known.row.account == account && known.good_at(now_ms);
        let mut ours: Vec<_> = all.values().filter(ours).cloned().collect();
        ours.sort_by(|one, other| one.row.id.cmp(&other.row.id));
        ours
    }

    pub(crate) fn knows(&self, id: &SessionId, now_ms: i64) -> bool {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.values().any(|known| known.row.id == *id && known.good_at(now_ms))
    }

    fn put(&self, row: SessionRow) -> Arc<Known> {
        let known = Arc::new(Known::new(row));
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, known_before| known_before.good_at(known.row.created_ms));
        all.insert(known.row.digest, known.clone());
        known
    }

    fn remove(&self, digest: &Digest) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(digest);
    }

    /// Ends an account's sessions but one.
    pub(crate) fn forget_account(&self, account: &str, kept: Option<&str>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, known| known.row.account != account || Some(known.row.id.as_str()) == kept);
    }
}

impl Known {
    fn new(row: SessionRow) -> Self {
        let used_ms = Mutex::new(row.last_used_ms);
        Self { row, used_ms }
    }
}

impl Control {
    /// Who shows the secret of a session; nothing where it is nobody's.
    pub fn authenticate_session(&self, secret: &str, surface: Surface) -> Option<Caller> {
        let (shared, now_ms) = (self.shared_arc(), self.now_ms());
        let known = shared.sessions.of_secret(secret, now_ms)?;
        if known.touch(now_ms) {
            let (shared, id) = (shared.clone(), known.row.id.clone());
            tokio::spawn(async move {
                if let Err(error) = shared.installation.touch_session(&id, now_ms).await {
                    tracing::warn!(%error, "the use of a session was not recorded");
                }
            });
        }
        let role = shared.members.least(&known.row.account);
        let person = Caller::person(&known.row.account, &known.row.client, surface, role);
        Some(Caller { session: Some(known.row.id.clone()), ..person })
    }

    /// Begins a session for whoever knows an account's password. `client` is
    /// through what, `peer` from where.
    ///
    /// # Errors
    /// When the account or its password is another, or too many were tried.
    pub async fn sign_in(&self, request: SignIn, client: &str, peer: &str) -> Result<SignedIn, Problem> {
        // What can't be an account's name is nobody's, and costs the same.
        let account = account_name(&request.account).map_or_else(|_| "-".to_owned(), String::from);
        self.expect_password(&account, Some(&request.password), peer).await?;
        let (shared, now_ms) = (self.shared(), self.now_ms());
        self.make_room(&account).await?;
        let secret = new_secret(PREFIX);
        let row = SessionRow {
            id: SessionId::new(now_ms, random()),
            digest: Digest::of(secret.as_bytes()),
            account: account.clone(),
            client: client.to_owned(),
            created_ms: now_ms,
            last_used_ms: now_ms,
            expires_ms: now_ms + LIFETIME_MS,
        };
        shared.installation.add_session(row.clone()).await?;
        let known = shared.sessions.put(row);
        let role = shared.members.least(&account);
        let person = Caller::person(&account, client, Surface::Http, role);
        let person = Caller { session: Some(known.row.id.clone()), ..person };
        let what = json!({"session": known.row.id.to_string(), "peer": peer});
        self.record(&person, &About::Account(&account), "session.begin", what).await?;
        Ok(SignedIn { session: known.view(&person), secret, lifetime_seconds: LIFETIME_MS / 1000 })
    }

    async fn make_room(&self, account: &str) -> Result<(), Problem> {
        let ours = self.shared().sessions.of_account(account, self.now_ms());
        if ours.len() >= LIMIT
            && let Some(oldest) = ours.iter().min_by_key(|known| known.used_ms())
        {
            self.shared().sessions.remove(&oldest.row.digest);
            self.shared().installation.remove_session(&oldest.row.id).await?;
        }
        Ok(())
    }

    /// The caller's own sessions, oldest first.
    ///
    /// # Errors
    /// When the caller does not speak for its account, or the cursor is none
    /// of this list.
    pub fn sessions(&self, caller: &Caller, query: &PageQuery) -> Result<Page<SessionView>, Problem> {
        expect_speaks(caller)?;
        let ours = self.shared().sessions.of_account(&caller.account, self.now_ms());
        let views = ours.iter().map(|known| known.view(caller)).collect();
        query.page(views, |view: &SessionView| view.id.clone())
    }

    /// Ends one of the caller's own sessions: from now on it is nobody's.
    /// `current` is the one that asks.
    ///
    /// # Errors
    /// When the caller has none of that id.
    pub async fn end_session(&self, caller: &Caller, id: &str) -> Result<(), Problem> {
        caller.expect_person()?;
        let ours = self.shared().sessions.of_account(&caller.account, self.now_ms());
        let meant = |known: &&Arc<Known>| match id {
            "current" => caller.session.as_ref() == Some(&known.row.id),
            id => known.row.id.as_str() == id,
        };
        let known = ours.iter().find(meant).ok_or_else(|| {
            let shown: String = id.chars().take(80).collect();
            Problem::not_found("session", shown)
        })?;
        self.shared().sessions.remove(&known.row.digest);
        self.shared().installation.remove_session(&known.row.id).await?;
        let what = json!({"session": known.row.id.to_string()});
        self.record(caller, &About::Account(&caller.account), "session.end", what).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(secret: &str, account: &str) -> SessionRow {
        SessionRow {
            id: SessionId::new(1, secret),
            digest: Digest::of(secret.as_bytes()),
            account: account.into(),
            client: "browser".into(),
            created_ms: 0,
            last_used_ms: 0,
            expires_ms: LIFETIME_MS,
        }
    }

    #[test]
    fn a_session_ends_by_itself_when_unused_and_at_last() {
        let sessions = Sessions::load(vec![row("a", "ada")]);
        assert!(sessions.of_secret("a", IDLE_MS - 1).is_some());
        assert!(sessions.of_secret("a", IDLE_MS).is_none(), "nobody used it for a week");
        let known = sessions.of_secret("a", 5).unwrap();
        assert!(!known.touch(TOUCH_AFTER_MS - 1) && known.touch(TOUCH_AFTER_MS));
        for week in 1..4 {
            known.touch(week * IDLE_MS);
        }
        assert!(sessions.of_secret("a", 4 * IDLE_MS - 1).is_some());
        known.touch(LIFETIME_MS - 1);
        assert!(sessions.of_secret("a", LIFETIME_MS).is_none(), "a month is over");
        assert!(sessions.of_secret("b", 5).is_none());
    }

    #[test]
    fn an_accounts_sessions_are_forgotten_and_no_others() {
        let sessions = Sessions::load(vec![row("a", "ada"), row("b", "ada"), row("c", "bob")]);
        let kept = row("b", "ada").id;
        sessions.forget_account("ada", Some(kept.as_str()));
        assert!(sessions.of_secret("a", 5).is_none());
        assert!(sessions.of_secret("b", 5).is_some() && sessions.of_secret("c", 5).is_some());
        sessions.forget_account("ada", None);
        assert!(sessions.of_secret("b", 5).is_none() && !sessions.knows(&kept, 5));
    }
}
