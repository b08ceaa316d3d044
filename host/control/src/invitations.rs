//! Invitations: how somebody comes into an organization.

use executor_store::{Accepted, Digest, InvitationId, InvitationRow};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::accounts::account_exists;
use crate::caller::{Caller, Capability, Surface};
use crate::clock::rfc3339;
use crate::control::Control;
use crate::organizations::{About, account_name, expect_may_hand_on};
use crate::page::{Page, PageQuery};
use crate::passwords::Password;
use crate::policies::random;
use crate::problem::{Problem, ProblemKind};
use crate::roles::Role;
use crate::tokens::new_secret;

/// What an invitation's secret begins with, so that a leaked one can be
/// recognised.
const PREFIX: &str = "exi_";
const LIFETIME_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// The longest label, in characters.
const LABEL_LIMIT: usize = 120;
/// Invitations of one organization that may be open at once.
const LIMIT: usize = 1_000;

/// An invitation, without its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct InvitationView {
    /// Its id.
    pub id: String,
    /// Into which organization.
    pub organization: String,
    /// As what.
    pub role: Role,
    /// For whom: a name or an address, as whoever made it says.
    pub label: String,
    /// Who made it, through which client.
    pub created_by: String,
    /// When.
    pub created_at: String,
    /// Until when it is good.
    pub expires_at: String,
    /// `open`, `expired` or `used`.
    pub status: &'static str,
    /// Which account used it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_by: Option<String>,
}

/// An invitation to make.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddInvitation {
    /// As what.
    pub role: Role,
    /// For whom: a name or an address, so that you know it again.
    #[serde(default)]
    pub label: Option<String>,
}

/// An invitation that was made. Its secret is shown this once.
#[derive(Debug, Clone)]
pub struct InvitationAdded {
    /// The invitation.
    pub invitation: InvitationView,
    /// What opens it.
    pub secret: String,
}

/// Somebody who follows an invitation.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// The account: a new one, or their own.
    pub account: String,
    /// Its password: for a new account 10 to 256 characters.
    pub password: Password,
}

/// Somebody who came in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct JoinedView {
    /// The account.
    pub account: String,
    /// The organization.
    pub organization: String,
    /// What it is there.
    pub role: Role,
}

impl Control {
    /// An organization's invitations, oldest first.
    ///
    /// # Errors
    /// When the caller may not see them, or the cursor is none of this list.
    pub fn invitations(
        &self,
        caller: &Caller,
        organization: &str,
        query: &PageQuery,
    ) -> Result<Page<InvitationView>, Problem> {
        self.caller_of(caller, organization)?.expect(Capability::Manage)?;
        let rows = self.shared().installation.invitations(organization)?.into_iter();
        let views = rows.map(|row| self.invitation_view(row)).collect::<Result<Vec<_>, _>>()?;
        query.page(views, |view: &InvitationView| view.id.clone())
    }

    fn invitation_view(&self, row: InvitationRow) -> Result<InvitationView, Problem> {
        let status = match row.used_ms {
            Some(_) => "used",
            None if row.expires_ms <= self.now_ms() => "expired",
            None => "open",
        };
        Ok(InvitationView {
            id: row.id.to_string(),
            organization: row.organization.into(),
            role: Role::stored(&row.role)?,
            label: row.label,
            created_by: row.created_by,
            created_at: rfc3339(row.created_ms),
            expires_at: rfc3339(row.expires_ms),
            status,
            used_by: row.used_by,
        })
    }

    /// Invites somebody.
    ///
    /// # Errors
    /// When the caller may not, or does not have the role itself.
    pub async fn invite(
        &self,
        caller: &Caller,
        organization: &str,
        request: AddInvitation,
    ) -> Result<InvitationAdded, Problem> {
        let caller = self.caller_of(caller, organization)?;
        caller.expect(Capability::Manage)?;
        expect_may_hand_on(&caller, request.role)?;
        let label = checked_label(request.label.unwrap_or_default())?;
        let (shared, now_ms) = (self.shared(), self.now_ms());
        let rows = shared.installation.invitations(organization)?.into_iter();
        if rows.filter(|row| row.used_ms.is_none() && row.expires_ms > now_ms).count() >= LIMIT {
            return Err(Problem::invalid(format!("{LIMIT} invitations are open already"))
                .hint("withdraw some: `executor members invitations` shows them"));
        }
        let secret = new_secret(PREFIX);
        let row = InvitationRow {
            id: InvitationId::new(now_ms, random()),
            digest: Digest::of(secret.as_bytes()),
            organization: executor_store::OrganizationName::parse(organization)
                .map_err(|error| Problem::invalid(error.to_string()))?,
            role: request.role.as_str().to_owned(),
            label,
            created_by: caller.signature(),
            created_ms: now_ms,
            expires_ms: now_ms + LIFETIME_MS,
            used_ms: None,
            used_by: None,
        };
        shared.installation.add_invitation(row.clone()).await?;
        let what = json!({"invitation": row.id.to_string(), "role": row.role, "label": row.label});
        self.record(&caller, &About::Organization(organization), "member.invite", what).await?;
        Ok(InvitationAdded { invitation: self.invitation_view(row)?, secret })
    }

    /// Withdraws an invitation that nobody used.
    ///
    /// # Errors
    /// When the caller may not, or there is none of that id.
    pub async fn withdraw_invitation(
        &self,
        caller: &Caller,
        organization: &str,
        id: &str,
    ) -> Result<(), Problem> {
        let caller = self.caller_of(caller, organization)?;
        caller.expect(Capability::Manage)?;
        let unknown = || {
            let shown: String = id.chars().take(80).collect();
            Problem::not_found("open invitation", shown).hint("`executor members invitations` shows them")
        };
        let parsed = InvitationId::parse(id).map_err(|_| unknown())?;
        if !self.shared().installation.remove_invitation(organization, &parsed).await? {
            return Err(unknown());
        }
        let what = json!({"invitation": id});
        self.record(&caller, &About::Organization(organization), "member.withdraw", what).await
    }

    /// The invitation that a secret opens, as long as it is good.
    ///
    /// # Errors
    /// When it was used or withdrawn, has expired, or never was.
    pub fn open_invitation(&self, secret: &str) -> Result<InvitationView, Problem> {
        let row = self.shared().installation.invitation(&Digest::of(secret.as_bytes()))?;
        let view = row.map(|row| self.invitation_view(row)).transpose()?;
        view.filter(|view| view.status == "open").ok_or_else(spent)
    }

    /// Follows an invitation: makes the account, unless it is there and the
    /// password is its own, and makes it a member. `client` is through what,
    /// `peer` from where.
    ///
    /// # Errors
    /// When the invitation is good no more, the name is taken, or the
    /// password does not suit.
    pub async fn accept_invitation(
        &self,
        secret: &str,
        request: Accept,
        client: &str,
        peer: &str,
    ) -> Result<JoinedView, Problem> {
        let invitation = self.open_invitation(secret)?;
        let account = account_name(&request.account)?;
        let shared = self.shared();
        let known = shared.installation.accounts()?.iter().any(|row| row.name == account);
        let new_password = if known {
            self.expect_password(account.as_str(), Some(&request.password), peer).await?;
            None
        } else {
            Some(shared.passwords.hash(&request.password).await?)
        };
        let digest = Digest::of(secret.as_bytes());
        let accepting = shared.installation.accept_invitation(&digest, &account, new_password, self.now_ms());
        match shared.members.change(&shared.installation, accepting).await? {
            Accepted::Spent => return Err(spent()),
            Accepted::Taken if !known => return Err(account_exists(account.as_str())),
            Accepted::Taken => {
                let message = format!("{account} is in {} already", invitation.organization);
                return Err(Problem::new(ProblemKind::Conflict, "member-exists", message)
                    .hint("an admin changes a role by `executor members role ACCOUNT ROLE`"));
            }
            Accepted::Joined => {}
        }
        let person = Caller::person(account.as_str(), client, Surface::Http, invitation.role);
        let what = json!({"invitation": invitation.id, "role": invitation.role, "peer": peer});
        let about = About::Organization(&invitation.organization);
        self.record(&person, &about, "member.join", what).await?;
        Ok(JoinedView {
            account: account.into(),
            organization: invitation.organization,
            role: invitation.role,
        })
    }
}

fn spent() -> Problem {
    Problem::new(ProblemKind::NotFound, "invitation-spent", "this invitation is good no more, or never was")
        .hint("an invitation is good once and for seven days: ask for another")
}

fn checked_label(label: String) -> Result<String, Problem> {
    let sound = label.chars().count() <= LABEL_LIMIT && !label.chars().any(char::is_control);
    if sound {
        return Ok(label);
    }
    Err(Problem::invalid(format!("a label has at most {LABEL_LIMIT} characters, and none that is not seen")))
}
