//! Tokens: how clients show who they are, and what each may do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use executor_store::{Digest, FIRST_ACCOUNT, TokenId, TokenRow};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

use crate::caller::{Caller, Capability, Surface, Toolkit};
use crate::clock::rfc3339;
use crate::control::{Control, Shared};
use crate::once::Once;
use crate::organizations::About;
use crate::page::{Page, PageQuery};
use crate::policies::random;
use crate::problem::{Problem, ProblemKind};

/// What a token begins with, so that a leaked one can be recognised.
const PREFIX: &str = "exr_";
/// Bytes of randomness in a token.
const RANDOM_BYTES: usize = 32;
/// A use is recorded when the last one is older than this.
const TOUCH_AFTER_MS: i64 = 60_000;
/// The longest name of a token, in characters.
const NAME_LIMIT: usize = 64;

/// A token, without its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TokenView {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub account: String,
    /// What it may do.
    pub capabilities: Vec<Capability>,
    /// The patterns of the tools that it may call; none: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<Vec<String>>,
    /// When it was made.
    pub created_at: String,
    /// When it was last shown, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
}

/// Which tokens to list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct TokenQuery {
    /// At most so many, 100 by default and 1,000 at most.
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// Those of every account, for whoever runs the installation.
    pub all: Option<bool>,
}

/// A token to make.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddToken {
    /// Its name, by which records tell what was done with it.
    pub name: String,
    /// What it may do; `call` by default.
    #[serde(default)]
    pub capabilities: Option<Vec<Capability>>,
    /// The patterns of the tools that it may call; all by default.
    #[serde(default)]
    pub toolkit: Option<Vec<String>>,
}

/// A token that was made. Its secret is shown this once.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TokenAdded {
    /// The token.
    pub token: TokenView,
    /// What to send as `Authorization: Bearer`; absent where an idempotency
    /// key names a token that was made before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// The tokens of an installation in memory, by the digests of their secrets.
#[derive(Default)]
pub(crate) struct Tokens {
    known: RwLock<HashMap<Digest, Arc<Known>>>,
}

struct Known {
    row: TokenRow,
    capabilities: Vec<Capability>,
    toolkit: Option<Arc<Toolkit>>,
    used_ms: Mutex<i64>,
}

impl Tokens {
    pub(crate) fn load(rows: Vec<TokenRow>) -> Result<Self, Problem> {
        let known = rows.into_iter().map(|row| Ok((row.digest, Arc::new(Known::new(row)?))));
        Ok(Self { known: RwLock::new(known.collect::<Result<_, Problem>>()?) })
    }

    fn of_secret(&self, secret: &str) -> Option<Arc<Known>> {
        // The secret is 256 random bits: looking for its digest tells nothing
        // about it by the time that takes.
        let digest = Digest::of(secret.as_bytes());
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(&digest).cloned()
    }

    fn put(&self, known: Known) {
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(known.row.digest, Arc::new(known));
    }

    fn remove(&self, digest: &Digest) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(digest);
    }

    fn all(&self) -> Vec<Arc<Known>> {
        let all = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = all.values().cloned().collect();
        all.sort_by(|a, b| (&a.row.name, &a.row.account).cmp(&(&b.row.name, &b.row.account)));
        all
    }

    /// Takes back all of an account's.
    pub(crate) fn forget_account(&self, account: &str) {
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, known| known.row.account != account);
    }
}

impl Known {
    fn new(row: TokenRow) -> Result<Self, Problem> {
        let capabilities = row.capabilities.iter().filter_map(|name| Capability::parse(name)).collect();
        let toolkit = row.toolkit.as_deref().map(Toolkit::parse).transpose()?.map(Arc::new);
        let used_ms = Mutex::new(row.last_used_ms.unwrap_or_default());
        Ok(Self { row, capabilities, toolkit, used_ms })
    }

    fn view(&self) -> TokenView {
        let used_ms = *self.used_ms.lock().unwrap_or_else(PoisonError::into_inner);
        TokenView {
            id: self.row.id.to_string(),
            name: self.row.name.clone(),
            account: self.row.account.clone(),
            capabilities: self.capabilities.clone(),
            toolkit: self.row.toolkit.clone(),
            created_at: rfc3339(self.row.created_ms),
            last_used_at: (used_ms > 0).then(|| rfc3339(used_ms)),
        }
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
}

impl Shared {
    /// Who shows a secret; nothing where it is nobody's.
    fn caller_of(self: &Arc<Self>, secret: &str, surface: Surface) -> Option<Caller> {
        let known = self.tokens.of_secret(secret)?;
        if known.touch(self.now_ms()) {
            let (shared, id, now_ms) = (self.clone(), known.row.id.clone(), self.now_ms());
            tokio::spawn(async move {
                if let Err(error) = shared.installation.touch_token(&id, now_ms).await {
                    tracing::warn!(%error, "the use of a token was not recorded");
                }
            });
        }
        Some(Caller {
            account: known.row.account.clone(),
            client: known.row.name.clone(),
            surface,
            token: Some(known.row.id.clone()),
            session: None,
            granted: known.capabilities.clone(),
            role: self.members.least(&known.row.account),
            toolkit: known.toolkit.clone(),
        })
    }
}

impl Control {
    /// Whoever is at the daemon's machine as its user: the first account.
    /// `client` is what they use.
    pub fn at_the_machine(&self, client: &str, surface: Surface) -> Caller {
        Caller::person(FIRST_ACCOUNT, client, surface, self.shared().members.least(FIRST_ACCOUNT))
    }

    /// Who shows a secret: the owner, or a client by its token; nothing where
    /// it is nobody's. `client` is what an owner's client calls itself.
    pub fn authenticate(&self, secret: &str, client: &str, surface: Surface) -> Option<Caller> {
        if self.token_matches(secret) {
            return Some(self.at_the_machine(client, surface));
        }
        self.shared_arc().caller_of(secret, surface)
    }

    /// Whether what a caller showed is good still. Whoever is at the daemon's
    /// machine showed nothing that could be revoked.
    pub fn still_known(&self, caller: &Caller) -> bool {
        let shared = self.shared();
        match (&caller.token, &caller.session) {
            (Some(id), _) => shared.tokens.all().iter().any(|known| known.row.id == *id),
            (None, Some(id)) => shared.sessions.knows(id, self.now_ms()),
            (None, None) => true,
        }
    }

    /// The tokens of the caller's account, by name; those of all for whoever
    /// runs the installation and asks for them.
    ///
    /// # Errors
    /// When the caller does not speak for its account, or the cursor is none
    /// of this list.
    pub fn tokens(&self, caller: &Caller, query: &TokenQuery) -> Result<Page<TokenView>, Problem> {
        expect_speaks(caller)?;
        if query.all.unwrap_or_default() {
            self.expect_runs_installation(caller)?;
        }
        let mut visible = self.visible_tokens(caller);
        visible.retain(|known| query.all.unwrap_or_default() || known.row.account == caller.account);
        let paging = PageQuery { limit: query.limit, cursor: query.cursor.clone() };
        let views = visible.iter().map(|known| known.view()).collect();
        paging.page(views, |view: &TokenView| format!("{} {}", view.name, view.account))
    }

    fn visible_tokens(&self, caller: &Caller) -> Vec<Arc<Known>> {
        let all = self.expect_runs_installation(caller).is_ok();
        let mut visible = self.shared().tokens.all();
        visible.retain(|known| all || known.row.account == caller.account);
        visible
    }

    /// Makes a token.
    ///
    /// # Errors
    /// When its name is taken or none, or a pattern is none.
    pub async fn add_token(
        &self,
        caller: &Caller,
        request: AddToken,
        once: Option<Once>,
    ) -> Result<TokenAdded, Problem> {
        let shared = self.shared();
        if let Some(id) = Once::earlier(once.as_ref(), |once| shared.installation.once(once))? {
            return Ok(TokenAdded { token: self.known_token(caller, &id)?.view(), secret: None });
        }
        expect_speaks(caller)?;
        let name = checked_name(&request.name)?;
        let capabilities = request.capabilities.unwrap_or_else(|| vec![Capability::Call]);
        // Nobody hands on what they were not given. What the account's role
        // does not hold the token does not have either, when it is used.
        for capability in &capabilities {
            if !caller.was_given(*capability) {
                caller.expect(*capability)?;
            }
        }
        let secret = new_secret(PREFIX);
        let row = TokenRow {
            id: TokenId::new(shared.now_ms(), random()),
            name,
            digest: Digest::of(secret.as_bytes()),
            account: caller.account.clone(),
            capabilities: capabilities.iter().map(|one| one.as_str().to_owned()).collect(),
            toolkit: request.toolkit,
            created_ms: shared.now_ms(),
            last_used_ms: None,
        };
        let known = Known::new(row.clone())?;
        let added = shared.installation.add_token(row.clone(), once.map(Once::into_store)).await;
        added.map_err(|error| match error {
            executor_store::StoreError::Conflict { what } => {
                Problem::new(ProblemKind::Conflict, "token-exists", what)
                    .hint("revoke it with `executor tokens revoke`, or choose another name")
            }
            error => error.into(),
        })?;
        let view = known.view();
        shared.tokens.put(known);
        let what = json!({"token": row.name, "id": view.id, "capabilities": view.capabilities, "toolkit": view.toolkit});
        self.record(caller, &About::Account(&caller.account), "token.add", what).await?;
        Ok(TokenAdded { token: view, secret: Some(secret) })
    }

    /// Takes a token back: from now on it is nobody's.
    ///
    /// # Errors
    /// When there is none of that name or id.
    pub async fn revoke_token(&self, caller: &Caller, name: &str) -> Result<(), Problem> {
        expect_speaks(caller)?;
        let known = self.known_token(caller, name)?;
        // First from memory: whatever comes after this is refused.
        self.shared().tokens.remove(&known.row.digest);
        self.shared().installation.remove_token(&known.row.id).await?;
        let what = json!({"token": known.row.name, "id": known.row.id.to_string()});
        self.record(caller, &About::Account(&known.row.account), "token.revoke", what).await
    }

    /// A token by its id, or by the name that its own account gave it.
    fn known_token(&self, caller: &Caller, name: &str) -> Result<Arc<Known>, Problem> {
        let meant = |known: &&Arc<Known>| {
            known.row.id.as_str() == name || known.row.name == name && known.row.account == caller.account
        };
        self.visible_tokens(caller).iter().find(meant).cloned().ok_or_else(|| {
            let shown: String = name.chars().take(80).collect();
            Problem::not_found("token", shown).hint("`executor tokens list` shows them; others' by their ids")
        })
    }
}

/// Fails for a client that is not its account's own voice.
pub(crate) fn expect_speaks(caller: &Caller) -> Result<(), Problem> {
    if caller.speaks_for_account() { Ok(()) } else { caller.expect(Capability::Manage) }
}

fn checked_name(name: &str) -> Result<String, Problem> {
    let sound = !name.is_empty()
        && name.chars().count() <= NAME_LIMIT
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if sound && !name.starts_with("tok_") {
        return Ok(name.to_owned());
    }
    Err(Problem::invalid(format!("{name:?} can't be the name of a token"))
        .hint("a name is letters, digits, `-`, `_` and `.`, 64 at most, and begins not with tok_"))
}

/// 256 random bits, recognisable by what they begin with.
pub(crate) fn new_secret(prefix: &str) -> String {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes).expect("the operating system gives randomness");
    format!("{prefix}{}", hex::encode(bytes))
}
