//! Roles: what an account is in an organization, and so may do in its
//! workspaces.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::caller::Capability;
use crate::problem::Problem;

/// What an account is in an organization; the later the more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees everything, and calls nothing.
    Viewer,
    /// Calls tools and runs programs, and accepts what these ask.
    Member,
    /// Does everything in the organization's workspaces, and says who is in
    /// it, owners aside.
    Admin,
    /// An admin who says who owns it. Those of the first organization run the
    /// installation.
    Owner,
}

impl Role {
    /// Every role, the least first.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Member, Self::Admin, Self::Owner];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Member => "member",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }

    /// The role of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }

    pub(crate) fn stored(name: &str) -> Result<Self, Problem> {
        Self::parse(name).ok_or_else(|| Problem::internal(format!("{name:?} is stored as a role")))
    }

    /// What it lets its account do, at most.
    pub fn capabilities(self) -> &'static [Capability] {
        match self {
            Self::Viewer => &[Capability::Read],
            Self::Member => &[Capability::Read, Capability::Call, Capability::Approve],
            Self::Admin | Self::Owner => &Capability::ALL,
        }
    }

    /// Whether it accepts what others' executions ask.
    pub(crate) fn answers_for_others(self) -> bool {
        self >= Self::Admin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greater_role_may_do_all_that_a_lesser_one_may() {
        assert!(Role::ALL.is_sorted());
        for pair in Role::ALL.windows(2) {
            let less = pair[0].capabilities();
            assert!(less.iter().all(|one| pair[1].capabilities().contains(one)), "{pair:?}");
        }
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("Owner"), None);
        assert!(Role::stored("root").is_err());
    }
}
