//! Organizations, who is in them as what, and who is invited, in
//! `executor.db`.

use rusqlite::{Connection, params};

use crate::accounts;
use crate::digest::Digest;
use crate::error::{Fault, Result};
use crate::identifiers::InvitationId;
use crate::installation::Installation;
use crate::names::{AccountName, OrganizationName};
use crate::sql::{self, Columns};

pub(crate) const ROLES: &str = "
ALTER TABLE memberships ADD COLUMN role TEXT NOT NULL DEFAULT 'viewer';
UPDATE memberships SET role = 'owner';

CREATE TABLE invitations (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    organization TEXT NOT NULL REFERENCES organizations (name),
    role TEXT NOT NULL,
    label TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    used_ms INTEGER,
    used_by TEXT
) STRICT;
";

/// The role that an organization never is without.
const OWNER: &str = "owner";

/// One account in one organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MembershipRow {
    /// The organization.
    pub organization: OrganizationName,
    /// The account.
    pub account: AccountName,
    /// What it is there.
    pub role: String,
}

/// An invitation. Its secret is nowhere in the home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationRow {
    /// Its id.
    pub id: InvitationId,
    /// SHA-256 of its secret, which is random: there is nothing to guess.
    pub digest: Digest,
    /// Into which organization.
    pub organization: OrganizationName,
    /// As what.
    pub role: String,
    /// For whom, as whoever made it says.
    pub label: String,
    /// Who made it, through which client.
    pub created_by: String,
    /// When.
    pub created_ms: i64,
    /// From when on it is worth nothing.
    pub expires_ms: i64,
    /// When it was used.
    pub used_ms: Option<i64>,
    /// Which account used it.
    pub used_by: Option<String>,
}

/// What became of a change that must leave each organization an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It was made.
    Done,
    /// There is nothing of that name.
    Unknown,
    /// It would have left the organization without an owner.
    LastOwner,
}

/// What became of an invitation that somebody accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// The account is a member now.
    Joined,
    /// It is used, withdrawn, expired, or never was.
    Spent,
    /// The account is a member already, or, where it should be new, there.
    Taken,
}

impl Installation {
    /// The names of the organizations, sorted.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn organizations(&self) -> Result<Vec<OrganizationName>> {
        self.database().read("listing organizations", |connection| {
            sql::all(connection, "SELECT name FROM organizations ORDER BY name", [], |row| row.get())
        })
    }

    /// Adds an organization with its first owner; whether it is new.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn add_organization(
        &self,
        name: &OrganizationName,
        owner: &AccountName,
        now_ms: i64,
    ) -> Result<bool> {
        let (name, owner) = (name.clone(), owner.clone());
        let added = self.database().write("adding an organization", move |connection| {
            let sql = "INSERT INTO organizations (name, created_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            if sql::execute(connection, sql, params![name, now_ms])? == 0 {
                return Ok(false);
            }
            put_member(connection, &name, &owner, OWNER)
        });
        added.await
    }

    /// Everybody's memberships, by account and organization.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn memberships(&self) -> Result<Vec<MembershipRow>> {
        self.database().read("listing memberships", |connection| {
            let sql = "SELECT organization, account, role FROM memberships ORDER BY account, organization";
            sql::all(connection, sql, [], |row| {
                Ok(MembershipRow { organization: row.get()?, account: row.get()?, role: row.get()? })
            })
        })
    }

    /// Changes what a member is.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn set_role(&self, organization: &str, account: &str, role: &str) -> Result<Kept> {
        let (organization, account, role) = (organization.to_owned(), account.to_owned(), role.to_owned());
        let set = self.database().write("changing a role", move |connection| {
            if role != OWNER && is_last_owner(connection, &organization, &account)? {
                return Ok(Kept::LastOwner);
            }
            let sql = "UPDATE memberships SET role = ?3 WHERE organization = ?1 AND account = ?2";
            let changed = sql::execute(connection, sql, params![organization, account, role])?;
            Ok(if changed == 0 { Kept::Unknown } else { Kept::Done })
        });
        set.await
    }

    /// Takes an account out of an organization. One that is in no other loses
    /// its sessions and tokens.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove_member(&self, organization: &str, account: &str) -> Result<Kept> {
        let (organization, account) = (organization.to_owned(), account.to_owned());
        let removed = self.database().write("removing a member", move |connection| {
            if is_last_owner(connection, &organization, &account)? {
                return Ok(Kept::LastOwner);
            }
            let sql = "DELETE FROM memberships WHERE organization = ?1 AND account = ?2";
            if sql::execute(connection, sql, params![organization, account])? == 0 {
                return Ok(Kept::Unknown);
            }
            let sql = "SELECT 1 FROM memberships WHERE account = ?1";
            let elsewhere: Option<i64> = sql::first(connection, sql, [&account], |row| row.get())?;
            if elsewhere.is_none() {
                accounts::forget(connection, &account)?;
            }
            Ok(Kept::Done)
        });
        removed.await
    }

    /// Adds an invitation.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn add_invitation(&self, row: InvitationRow) -> Result<()> {
        let added = self.database().write("adding an invitation", move |connection| {
            let sql =
                "INSERT INTO invitations (id, digest, organization, role, label, created_by, created_ms,
                expires_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
            let params = params![
                row.id,
                row.digest,
                row.organization,
                row.role,
                row.label,
                row.created_by,
                row.created_ms,
                row.expires_ms
            ];
            sql::execute(connection, sql, params)?;
            Ok(())
        });
        added.await
    }

    /// An organization's invitations, oldest first.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn invitations(&self, organization: &str) -> Result<Vec<InvitationRow>> {
        self.database().read("listing invitations", |connection| {
            let sql = format!("{INVITATIONS} WHERE organization = ?1 ORDER BY id");
            sql::all(connection, &sql, [organization], read_invitation)
        })
    }

    /// The invitation of a secret's digest, whatever became of it.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn invitation(&self, digest: &Digest) -> Result<Option<InvitationRow>> {
        self.database().read("reading an invitation", |connection| {
            let sql = format!("{INVITATIONS} WHERE digest = ?1");
            sql::first(connection, &sql, [digest], read_invitation)
        })
    }

    /// Withdraws an invitation that nobody used; whether there was one.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove_invitation(&self, organization: &str, id: &InvitationId) -> Result<bool> {
        let (organization, id) = (organization.to_owned(), id.clone());
        let removed = self.database().write("withdrawing an invitation", move |connection| {
            let sql = "DELETE FROM invitations WHERE organization = ?1 AND id = ?2 AND used_ms IS NULL";
            Ok(sql::execute(connection, sql, params![organization, id])? > 0)
        });
        removed.await
    }

    /// Uses an invitation, once: makes the account where it comes with a
    /// password, and makes it a member.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn accept_invitation(
        &self,
        digest: &Digest,
        account: &AccountName,
        new_password: Option<String>,
        now_ms: i64,
    ) -> Result<Accepted> {
        let (digest, account) = (*digest, account.clone());
        let accepted = self.database().write("accepting an invitation", move |connection| {
            let sql = format!("{INVITATIONS} WHERE digest = ?1 AND used_ms IS NULL AND expires_ms > ?2");
            let found = sql::first(connection, &sql, params![digest, now_ms], read_invitation)?;
            let Some(invitation) = found else { return Ok(Accepted::Spent) };
            if let Some(password) = &new_password
                && !accounts::put(connection, &account, Some(password), now_ms)?
            {
                return Ok(Accepted::Taken);
            }
            if !put_member(connection, &invitation.organization, &account, &invitation.role)? {
                return Ok(Accepted::Taken);
            }
            let sql = "UPDATE invitations SET used_ms = ?2, used_by = ?3 WHERE id = ?1";
            sql::execute(connection, sql, params![invitation.id, now_ms, account])?;
            Ok(Accepted::Joined)
        });
        accepted.await
    }
}

/// Whether an organization would have no owner without this one.
pub(crate) fn is_last_owner(
    connection: &Connection,
    organization: &str,
    account: &str,
) -> std::result::Result<bool, Fault> {
    let sql = "SELECT account FROM memberships WHERE organization = ?1 AND role = ?2";
    let owners: Vec<String> = sql::all(connection, sql, [organization, OWNER], |row| row.get())?;
    Ok(owners == [account])
}

fn put_member(
    connection: &Connection,
    organization: &OrganizationName,
    account: &AccountName,
    role: &str,
) -> std::result::Result<bool, Fault> {
    let sql = "INSERT INTO memberships (organization, account, role) VALUES (?1, ?2, ?3)
        ON CONFLICT DO NOTHING";
    Ok(sql::execute(connection, sql, params![organization, account, role])? > 0)
}

const INVITATIONS: &str = "SELECT id, digest, organization, role, label, created_by, created_ms, expires_ms,
    used_ms, used_by FROM invitations";

fn read_invitation(row: &mut Columns<'_, '_>) -> std::result::Result<InvitationRow, Fault> {
    Ok(InvitationRow {
        id: row.get()?,
        digest: row.get()?,
        organization: row.get()?,
        role: row.get()?,
        label: row.get()?,
        created_by: row.get()?,
        created_ms: row.get()?,
        expires_ms: row.get()?,
        used_ms: row.get()?,
        used_by: row.get()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::Keyring;
    use crate::testing;

    fn account(name: &str) -> AccountName {
        AccountName::parse(name).unwrap()
    }

    fn invitation(secret: &str) -> InvitationRow {
        InvitationRow {
            id: InvitationId::new(1, secret),
            digest: Digest::of(secret.as_bytes()),
            organization: OrganizationName::parse("personal").unwrap(),
            role: "member".into(),
            label: "ada@example.test".into(),
            created_by: "local (cli)".into(),
            created_ms: 1,
            expires_ms: 100,
            used_ms: None,
            used_by: None,
        }
    }

    #[tokio::test]
    async fn an_invitation_is_good_once_and_until_it_expires() {
        let (_directory, home) = testing::home();
        let installation = Installation::open(&home, &Keyring::default(), 1).unwrap();
        for secret in ["a", "b", "c"] {
            installation.add_invitation(invitation(secret)).await.unwrap();
        }
        let accept = |secret: &str, name: &str, now_ms| {
            let (digest, name) = (Digest::of(secret.as_bytes()), account(name));
            let installation = installation.clone();
            async move { installation.accept_invitation(&digest, &name, Some("$x".into()), now_ms).await.unwrap() }
        };
        assert_eq!(accept("a", "ada", 100).await, Accepted::Spent, "it expired");
        assert_eq!(accept("z", "ada", 5).await, Accepted::Spent, "there is none");
        assert_eq!(accept("a", "local", 5).await, Accepted::Taken, "somebody has that name");
        assert_eq!(accept("a", "ada", 5).await, Accepted::Joined);
        assert_eq!(accept("a", "bob", 5).await, Accepted::Spent, "it is used");
        assert_eq!(installation.password("bob").unwrap(), None);
        let id = invitation("b").id;
        assert!(!installation.remove_invitation("other", &id).await.unwrap());
        assert!(installation.remove_invitation("personal", &id).await.unwrap());
        assert_eq!(accept("b", "bob", 5).await, Accepted::Spent, "it was withdrawn");
        let used = installation.invitation(&Digest::of(b"a")).unwrap().unwrap();
        assert_eq!((used.used_ms, used.used_by.as_deref()), (Some(5), Some("ada")));
        assert!(!installation.remove_invitation("personal", &used.id).await.unwrap(), "it is a record now");
        let again =
            installation.accept_invitation(&Digest::of(b"c"), &account("ada"), None, 5).await.unwrap();
        assert_eq!(again, Accepted::Taken, "she is a member already");
    }

    #[tokio::test]
    async fn an_organization_keeps_an_owner() {
        let (_directory, home) = testing::home();
        let installation = Installation::open(&home, &Keyring::default(), 1).unwrap();
        installation.add_account(&account("ada"), None, 1).await.unwrap();
        assert!(!installation.add_account(&account("ada"), None, 1).await.unwrap());
        let team = OrganizationName::parse("team").unwrap();
        assert!(installation.add_organization(&team, &account("ada"), 1).await.unwrap());
        assert!(!installation.add_organization(&team, &account("local"), 1).await.unwrap());
        assert_eq!(installation.set_role("team", "ada", "admin").await.unwrap(), Kept::LastOwner);
        assert_eq!(installation.remove_member("team", "ada").await.unwrap(), Kept::LastOwner);
        assert_eq!(installation.remove_account("ada").await.unwrap(), Kept::LastOwner);
        assert_eq!(installation.set_role("team", "nobody", "admin").await.unwrap(), Kept::Unknown);
        assert_eq!(installation.remove_member("nowhere", "ada").await.unwrap(), Kept::Unknown);
        assert_eq!(installation.set_role("team", "ada", "owner").await.unwrap(), Kept::Done);
    }
}
