//! Accounts: who can sign in, and with which password.

use executor_store::{AccountRow, FIRST_ACCOUNT, Kept};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::control::Control;
use crate::organizations::{About, account_name, expect_kept};
use crate::page::{Page, PageQuery};
use crate::passwords::Password;
use crate::problem::{Problem, ProblemKind};

/// Somebody who can sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AccountView {
    /// The name.
    pub name: String,
    /// Whether there is a password; without one only tokens open.
    pub has_password: bool,
    /// The organizations that the account is in.
    pub organizations: Vec<String>,
    /// When it was made.
    pub created_at: String,
}

/// An account to make.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddAccount {
    /// Its name: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// Its password: 10 to 256 characters. Without one nobody signs in.
    #[serde(default)]
    pub password: Option<Password>,
}

/// A password to set.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPassword {
    /// The new one: 10 to 256 characters.
    pub password: Password,
    /// The one until now: whoever does not run the installation shows it.
    #[serde(default)]
    pub current: Option<Password>,
}

impl Control {
    /// The accounts, by name: all for whoever runs the installation, else the
    /// caller's own.
    ///
    /// # Errors
    /// When they can't be read, or the cursor is none of this list.
    pub fn accounts(&self, caller: &Caller, query: &PageQuery) -> Result<Page<AccountView>, Problem> {
        let all = self.expect_runs_installation(caller).is_ok();
        let rows = self.shared().installation.accounts()?.into_iter();
        let rows = rows.filter(|row| all || row.name.as_str() == caller.account);
        let views = rows.map(|row| self.account_view(row)).collect();
        query.page(views, |view: &AccountView| view.name.clone())
    }

    fn account_view(&self, row: AccountRow) -> AccountView {
        let organizations = self.shared().members.of_account(row.name.as_str()).into_keys().collect();
        AccountView {
            organizations,
            name: row.name.into(),
            has_password: row.has_password,
            created_at: rfc3339(row.created_ms),
        }
    }

    /// Makes an account. It is in no organization yet.
    ///
    /// # Errors
    /// When the caller may not, the name is none or taken, or the password
    /// does not suit.
    pub async fn add_account(&self, caller: &Caller, request: AddAccount) -> Result<AccountView, Problem> {
        self.expect_runs_installation(caller)?;
        caller.expect_person()?;
        let name = account_name(&request.name)?;
        let has_password = request.password.is_some();
        let password = match &request.password {
            Some(password) => Some(self.shared().passwords.hash(password).await?),
            None => None,
        };
        let created_ms = self.now_ms();
        if !self.shared().installation.add_account(&name, password, created_ms).await? {
            return Err(account_exists(name.as_str()));
        }
        let what = json!({"added": name.as_str()});
        self.record(caller, &About::Account(&caller.account), "account.add", what).await?;
        Ok(self.account_view(AccountRow { name, has_password, created_ms }))
    }

    /// Removes an account with its memberships, sessions and tokens. What its
    /// executions did stays on record.
    ///
    /// # Errors
    /// When the caller may not, there is none of that name, or an
    /// organization would have no owner.
    pub async fn remove_account(&self, caller: &Caller, account: &str) -> Result<(), Problem> {
        self.expect_runs_installation(caller)?;
        caller.expect_person()?;
        if account == FIRST_ACCOUNT {
            let message = format!("{FIRST_ACCOUNT} is the account of the daemon's own machine");
            return Err(Problem::new(ProblemKind::Conflict, "account-needed", message)
                .hint("it has no password unless you set one; `executor accounts remove` takes others"));
        }
        let shared = self.shared();
        let organizations: Vec<String> = shared.members.of_account(account).into_keys().collect();
        let removing = shared.installation.remove_account(account);
        let kept = shared.members.change(&shared.installation, removing).await?;
        if kept == Kept::Unknown {
            return Err(unknown_account(account));
        }
        expect_kept(kept, &organizations.join(", "), account)?;
        self.forget_account(account);
        let what = json!({"removed": account});
        for organization in &organizations {
            self.record(caller, &About::Organization(organization), "account.remove", what.clone()).await?;
        }
        Ok(())
    }

    /// Sets an account's password, and ends its sessions but the caller's
    /// own. `peer` is where the caller is.
    ///
    /// # Errors
    /// When the caller may not, or the password does not suit.
    pub async fn set_password(
        &self,
        caller: &Caller,
        account: &str,
        request: SetPassword,
        peer: &str,
    ) -> Result<(), Problem> {
        caller.expect_person()?;
        let own = caller.account == account;
        // A session that somebody left open is not enough to keep its owner
        // out; the terminal of the daemon's user is.
        if caller.session.is_some() && own {
            self.expect_password(account, request.current.as_ref(), peer).await?;
        } else {
            self.expect_runs_installation(caller)?;
        }
        let shared = self.shared();
        let hash = shared.passwords.hash(&request.password).await?;
        let kept_session = caller.session.as_ref().filter(|_| own).map(ToString::to_string);
        if !shared.installation.set_password(account, hash, kept_session.clone()).await? {
            return Err(unknown_account(account));
        }
        shared.sessions.forget_account(account, kept_session.as_deref());
        let what = json!({"of": account});
        self.record(caller, &About::Account(account), "account.password", what).await
    }

    /// Fails unless a password is an account's.
    pub(crate) async fn expect_password(
        &self,
        account: &str,
        password: Option<&Password>,
        peer: &str,
    ) -> Result<(), Problem> {
        let shared = self.shared();
        let password = password.ok_or_else(|| {
            Problem::invalid("the password until now is missing").hint("send it as `current`")
        })?;
        shared.attempts.begin(account, peer, self.now_ms()).inspect_err(|_| {
            tracing::warn!(account, peer, "too many passwords were tried");
        })?;
        let kept = shared.installation.password(account)?;
        if !shared.passwords.verify(password, kept).await? {
            tracing::warn!(account, peer, "a password was wrong");
            return Err(Problem::new(
                ProblemKind::Unauthenticated,
                "sign-in-failed",
                "there is no such account, or the password is another",
            )
            .hint("the owner sets a new one: `executor accounts password ACCOUNT`"));
        }
        shared.attempts.succeeded(account, peer);
        Ok(())
    }
}

pub(crate) fn account_exists(name: &str) -> Problem {
    Problem::new(ProblemKind::Conflict, "account-exists", format!("there is an account {name} already"))
        .hint("choose another name")
}

fn unknown_account(account: &str) -> Problem {
    let shown: String = account.chars().take(80).collect();
    Problem::not_found("account", shown).hint("`executor accounts list` shows them")
}
