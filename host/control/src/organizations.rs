//! Organizations: who is in which, as what, and so reaches which workspaces.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use executor_store::{
    AccountName, FIRST_ACCOUNT, FIRST_ORGANIZATION, Installation, Kept, MembershipRow, OrganizationName,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::caller::{Caller, Capability};
use crate::control::{Control, Shared};
use crate::page::{Page, PageQuery};
use crate::problem::{Problem, ProblemKind};
use crate::roles::Role;
use crate::workspace::Workspace;

/// An organization.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OrganizationView {
    /// Its name.
    pub name: String,
    /// What the caller is in it.
    pub role: Role,
    /// Its workspaces.
    pub workspaces: Vec<String>,
}

/// An organization to make.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddOrganization {
    /// Its name: lower-case letters, digits, `-` and `_`.
    pub name: String,
}

/// Somebody in an organization.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MemberView {
    /// The account.
    pub account: String,
    /// What it is.
    pub role: Role,
}

/// What somebody is to be.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRole {
    /// The role.
    pub role: Role,
}

/// Who asks, and what they are where.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IdentityView {
    /// The account.
    pub account: String,
    /// Through which client.
    pub client: String,
    /// Whether the account runs the installation.
    pub runs_installation: bool,
    /// The organizations that it is in.
    pub organizations: Vec<OrganizationView>,
}

/// What an account is in each of its organizations.
type Roles = BTreeMap<String, Role>;

/// Everybody's memberships, in memory.
#[derive(Default)]
pub(crate) struct Members {
    known: RwLock<Arc<HashMap<String, Roles>>>,
    /// Held over a change and the reading of what it made, so that of two
    /// readings the later one stays.
    changing: tokio::sync::Mutex<()>,
}

impl Members {
    pub(crate) fn load(rows: Vec<MembershipRow>) -> Result<Self, Problem> {
        let members = Self::default();
        members.replace(rows)?;
        Ok(members)
    }

    fn replace(&self, rows: Vec<MembershipRow>) -> Result<(), Problem> {
        let mut known: HashMap<String, Roles> = HashMap::new();
        for row in rows {
            let role = Role::stored(&row.role)?;
            known.entry(row.account.into()).or_default().insert(row.organization.into(), role);
        }
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
        Ok(())
    }

    fn known(&self) -> Arc<HashMap<String, Roles>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn role(&self, account: &str, organization: &str) -> Option<Role> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(account)?.get(organization).copied()
    }

    /// What an account is wherever it is somebody: the least of its roles.
    pub(crate) fn least(&self, account: &str) -> Role {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(account).and_then(|roles| roles.values().min().copied()).unwrap_or(Role::Viewer)
    }

    pub(crate) fn of_account(&self, account: &str) -> Roles {
        self.known().get(account).cloned().unwrap_or_default()
    }

    fn of_organization(&self, organization: &str) -> Vec<MemberView> {
        let known = self.known();
        let role_in = |(account, roles): (&String, &Roles)| {
            roles.get(organization).map(|role| MemberView { account: account.clone(), role: *role })
        };
        let mut members: Vec<MemberView> = known.iter().filter_map(role_in).collect();
        members.sort_by(|one, other| one.account.cmp(&other.account));
        members
    }

    /// Makes a change of the stored memberships known: once this answers, it
    /// holds for every request.
    pub(crate) async fn change<T>(
        &self,
        installation: &Installation,
        change: impl Future<Output = executor_store::Result<T>>,
    ) -> Result<T, Problem> {
        let _changing = self.changing.lock().await;
        let changed = change.await?;
        self.replace(installation.memberships()?)?;
        Ok(changed)
    }
}

/// Whom a record is about: it stands in the logs of their workspaces, and in
/// no others.
pub(crate) enum About<'a> {
    /// One organization.
    Organization(&'a str),
    /// An account, and so each of its organizations.
    Account(&'a str),
}

impl Control {
    /// A workspace by its name. One that the caller's account has no business
    /// in is none.
    ///
    /// # Errors
    /// When there is none of that name for the caller.
    pub fn workspace(&self, caller: &Caller, name: &str) -> Result<Arc<Workspace>, Problem> {
        let found = self.any_workspace(name);
        let role = |workspace: &Arc<Workspace>| {
            self.shared().members.role(&caller.account, workspace.organization.as_str())
        };
        found.filter(|workspace| role(workspace).is_some()).ok_or_else(|| {
            let shown: String = name.chars().take(80).collect();
            let known = self.workspace_names(caller);
            let hint = match known.as_slice() {
                [] => "there is none that you are a member of; an admin invites you".to_owned(),
                known => format!("there is: {}", known.join(", ")),
            };
            Problem::not_found("workspace", shown).hint(hint)
        })
    }

    /// The caller as what its account is in a workspace.
    ///
    /// # Errors
    /// As [`Control::workspace`].
    pub fn caller_in(&self, caller: &Caller, workspace: &str) -> Result<Caller, Problem> {
        let found = self.workspace(caller, workspace)?;
        self.caller_of(caller, found.organization.as_str())
    }

    /// The caller as what its account is in an organization. One that it is
    /// not in is none.
    ///
    /// # Errors
    /// When there is none of that name for the caller.
    pub fn caller_of(&self, caller: &Caller, organization: &str) -> Result<Caller, Problem> {
        let role = self.shared().members.role(&caller.account, organization);
        let shown: String = organization.chars().take(80).collect();
        role.map(|role| caller.with_role(role)).ok_or_else(|| {
            Problem::not_found("organization", shown).hint("`executor organizations list` shows yours")
        })
    }

    /// Whether the caller may see what happens in a workspace, or, where none
    /// is named, in the installation.
    pub fn may_watch(&self, caller: &Caller, workspace: Option<&str>) -> bool {
        match workspace {
            Some(name) => self.caller_in(caller, name).is_ok_and(|caller| caller.may(Capability::Read)),
            None => self.expect_runs_installation(caller).is_ok(),
        }
    }

    /// Fails unless the caller runs the installation: an owner of the first
    /// organization, in person or by a token that manages.
    ///
    /// # Errors
    /// [`ProblemKind::Denied`].
    pub fn expect_runs_installation(&self, caller: &Caller) -> Result<(), Problem> {
        self.shared().expect_runs_installation(caller)
    }

    /// The names of the workspaces that the caller may enter, sorted.
    pub(crate) fn workspace_names(&self, caller: &Caller) -> Vec<String> {
        let roles = self.shared().members.of_account(&caller.account);
        let ours = self.all_workspaces().into_iter();
        let ours = ours.filter(|workspace| roles.contains_key(workspace.organization.as_str()));
        let mut names: Vec<String> = ours.map(|workspace| workspace.name.to_string()).collect();
        names.sort();
        names
    }

    /// Who asks.
    pub fn identity(&self, caller: &Caller) -> IdentityView {
        IdentityView {
            account: caller.account.clone(),
            client: caller.client.clone(),
            runs_installation: self.expect_runs_installation(caller).is_ok(),
            organizations: self.organization_views(caller),
        }
    }

    /// The organizations that the caller's account is in, by name.
    ///
    /// # Errors
    /// When the cursor is none of this list.
    pub fn organizations(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<OrganizationView>, Problem> {
        query.page(self.organization_views(caller), |view: &OrganizationView| view.name.clone())
    }

    fn organization_views(&self, caller: &Caller) -> Vec<OrganizationView> {
        let workspaces = self.all_workspaces();
        let view = |(name, role): (String, Role)| {
            let ours = workspaces.iter().filter(|workspace| workspace.organization.as_str() == name);
            let mut workspaces: Vec<String> = ours.map(|workspace| workspace.name.to_string()).collect();
            workspaces.sort();
            OrganizationView { name, role, workspaces }
        };
        self.shared().members.of_account(&caller.account).into_iter().map(view).collect()
    }

    /// Makes an organization, owned by whoever makes it.
    ///
    /// # Errors
    /// When the caller does not run the installation, or the name is none or
    /// taken.
    pub async fn add_organization(
        &self,
        caller: &Caller,
        request: AddOrganization,
    ) -> Result<OrganizationView, Problem> {
        self.expect_runs_installation(caller)?;
        let name =
            OrganizationName::parse(&request.name).map_err(|error| Problem::invalid(error.to_string()))?;
        let owner = account_name(&caller.account)?;
        let shared = self.shared();
        let adding = shared.installation.add_organization(&name, &owner, self.now_ms());
        if !shared.members.change(&shared.installation, adding).await? {
            let message = format!("there is an organization {name} already");
            return Err(Problem::new(ProblemKind::Conflict, "organization-exists", message)
                .hint("choose another name"));
        }
        let what = json!({"organization": name.as_str()});
        self.record(caller, &About::Account(&caller.account), "organization.add", what).await?;
        Ok(OrganizationView { name: name.into(), role: Role::Owner, workspaces: Vec::new() })
    }

    /// Who is in an organization, by name.
    ///
    /// # Errors
    /// When the caller is not, or the cursor is none of this list.
    pub fn members(
        &self,
        caller: &Caller,
        organization: &str,
        query: &PageQuery,
    ) -> Result<Page<MemberView>, Problem> {
        self.caller_of(caller, organization)?.expect(Capability::Read)?;
        let members = self.shared().members.of_organization(organization);
        query.page(members, |view: &MemberView| view.account.clone())
    }

    /// Changes what a member is, from the next request on.
    ///
    /// # Errors
    /// When the caller may not, or the organization would have no owner.
    pub async fn set_role(
        &self,
        caller: &Caller,
        organization: &str,
        account: &str,
        request: SetRole,
    ) -> Result<MemberView, Problem> {
        let caller = self.caller_of(caller, organization)?;
        caller.expect(Capability::Manage)?;
        let before = self.member(organization, account)?;
        expect_may_hand_on(&caller, before.role)?;
        expect_may_hand_on(&caller, request.role)?;
        if request.role != Role::Owner {
            expect_not_the_first(organization, account)?;
        }
        let shared = self.shared();
        let setting = shared.installation.set_role(organization, account, request.role.as_str());
        let kept = shared.members.change(&shared.installation, setting).await?;
        expect_kept(kept, organization, account)?;
        let what = json!({"organization": organization, "member": account, "before": before.role, "role": request.role});
        self.record(&caller, &About::Organization(organization), "member.role", what).await?;
        Ok(MemberView { account: account.to_owned(), role: request.role })
    }

    /// Takes somebody out of an organization: their sessions and tokens reach
    /// nothing of it from the next request on. Anybody may leave.
    ///
    /// # Errors
    /// When the caller may not, or the organization would have no owner.
    pub async fn remove_member(
        &self,
        caller: &Caller,
        organization: &str,
        account: &str,
    ) -> Result<(), Problem> {
        let caller = self.caller_of(caller, organization)?;
        let leaves = caller.account == account && caller.token.is_none();
        if !leaves {
            caller.expect(Capability::Manage)?;
        }
        let before = self.member(organization, account)?;
        expect_not_the_first(organization, account)?;
        if !leaves {
            expect_may_hand_on(&caller, before.role)?;
        }
        let shared = self.shared();
        let removing = shared.installation.remove_member(organization, account);
        let kept = shared.members.change(&shared.installation, removing).await?;
        expect_kept(kept, organization, account)?;
        if shared.members.of_account(account).is_empty() {
            self.forget_account(account);
        }
        let what = json!({"organization": organization, "member": account, "before": before.role});
        self.record(&caller, &About::Organization(organization), "member.remove", what).await
    }

    fn member(&self, organization: &str, account: &str) -> Result<MemberView, Problem> {
        let role =
            self.shared().members.role(account, organization).ok_or_else(|| unknown_member(account))?;
        Ok(MemberView { account: account.to_owned(), role })
    }

    /// Takes what an account could show from memory: it is nobody's.
    pub(crate) fn forget_account(&self, account: &str) {
        self.shared().tokens.forget_account(account);
        self.shared().sessions.forget_account(account, None);
    }

    /// Records a change of what is above the workspaces in the log of each
    /// workspace that it bears on.
    pub(crate) async fn record(
        &self,
        caller: &Caller,
        about: &About<'_>,
        what: &str,
        more: Value,
    ) -> Result<(), Problem> {
        let organizations = match about {
            About::Organization(name) => vec![(*name).to_owned()],
            About::Account(name) => self.shared().members.of_account(name).into_keys().collect(),
        };
        for workspace in self.all_workspaces() {
            if organizations.iter().any(|name| name == workspace.organization.as_str()) {
                workspace.record(caller, what, more.clone()).await?;
            }
        }
        tracing::info!(account = %caller.account, client = %caller.client, what, %more, "recorded");
        Ok(())
    }
}

impl Shared {
    /// Fails for whoever is no owner of the installation.
    pub(crate) fn expect_runs_installation(&self, caller: &Caller) -> Result<(), Problem> {
        if !caller.was_given(Capability::Manage) {
            return caller.expect(Capability::Manage);
        }
        if self.members.role(&caller.account, FIRST_ORGANIZATION) == Some(Role::Owner) {
            return Ok(());
        }
        let message = format!("{} may not do this: it is for the owners of the installation", caller.account);
        Err(Problem::new(ProblemKind::Denied, "not-allowed", message)
            .hint("on the daemon's machine the command line is the owner's"))
    }
}

/// Nobody hands on, or takes away, what they do not have; owners are the
/// business of owners.
pub(crate) fn expect_may_hand_on(caller: &Caller, role: Role) -> Result<(), Problem> {
    if role > caller.role {
        let message = format!(
            "{} may not do this: an {} says nothing of an {}",
            caller.account,
            caller.role.as_str(),
            role.as_str()
        );
        return Err(Problem::new(ProblemKind::Denied, "not-allowed", message)
            .hint("an owner of the organization does"));
    }
    role.capabilities().iter().try_for_each(|capability| caller.expect(*capability))
}

/// Whoever has the home owns the installation, whatever its records say: they
/// say so.
fn expect_not_the_first(organization: &str, account: &str) -> Result<(), Problem> {
    if (organization, account) != (FIRST_ORGANIZATION, FIRST_ACCOUNT) {
        return Ok(());
    }
    let message = format!("{FIRST_ACCOUNT} is whoever has the daemon's home, and owns {FIRST_ORGANIZATION}");
    Err(Problem::new(ProblemKind::Conflict, "account-needed", message)
        .hint("make an organization of its own for others: `executor organizations add NAME`"))
}

pub(crate) fn account_name(name: &str) -> Result<AccountName, Problem> {
    AccountName::parse(name).map_err(|error| Problem::invalid(error.to_string()))
}

pub(crate) fn expect_kept(kept: Kept, organization: &str, account: &str) -> Result<(), Problem> {
    match kept {
        Kept::Done => Ok(()),
        Kept::Unknown => Err(unknown_member(account)),
        Kept::LastOwner => Err(Problem::new(
            ProblemKind::Conflict,
            "last-owner",
            format!("{account} is the only owner of {organization}"),
        )
        .hint("make somebody else an owner first: `executor members role ACCOUNT owner`")),
    }
}

fn unknown_member(account: &str) -> Problem {
    let shown: String = account.chars().take(80).collect();
    Problem::not_found("member", shown).hint("`executor members list` shows them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Surface;

    #[test]
    fn an_account_is_the_least_that_it_is_anywhere() {
        let row = |organization: &str, account: &str, role: &str| MembershipRow {
            organization: OrganizationName::parse(organization).unwrap(),
            account: AccountName::parse(account).unwrap(),
            role: role.into(),
        };
        let members = Members::load(vec![
            row("personal", "local", "owner"),
            row("team", "local", "viewer"),
            row("team", "ada", "admin"),
        ])
        .unwrap();
        assert_eq!(members.least("local"), Role::Viewer);
        assert_eq!(members.least("nobody"), Role::Viewer);
        assert_eq!(members.role("local", "personal"), Some(Role::Owner));
        assert_eq!(members.role("ada", "personal"), None);
        let team: Vec<String> = members.of_organization("team").into_iter().map(|one| one.account).collect();
        assert_eq!(team, ["ada", "local"]);
        assert!(Members::load(vec![row("team", "ada", "root")]).is_err());
    }

    #[test]
    fn nobody_hands_on_what_they_do_not_have() {
        let person = |role| Caller::person("ada", "browser", Surface::Http, role);
        let manages = Caller { granted: vec![Capability::Manage], ..person(Role::Owner) };
        for (caller, role, may) in [
            (person(Role::Owner), Role::Owner, true),
            (person(Role::Admin), Role::Owner, false),
            (person(Role::Admin), Role::Admin, true),
            (person(Role::Admin), Role::Viewer, true),
            (manages.clone(), Role::Member, false),
            (manages, Role::Viewer, true),
        ] {
            assert_eq!(expect_may_hand_on(&caller, role).is_ok(), may, "{caller:?} {role:?}");
        }
    }
}
