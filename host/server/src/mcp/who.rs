//! Who asks through MCP, and in whose name a person's answer is given.

use std::sync::Arc;

use axum::http::request::Parts;
use executor_control::{Caller, Capability, Control, Workspace};
use rmcp::RoleServer;
use rmcp::model::{ErrorData, Extensions, Implementation, ProtocolVersion};
use rmcp::service::RequestContext;

use super::target::Target;
use super::text;

/// What clients are called that no token names and that say nothing better.
const UNNAMED: [&str; 3] = ["mcp", "cli", "http"];

/// A client's name as it says it, in characters.
const CLIENT_LIMIT: usize = 64;

/// One request: who asks, and for what.
#[derive(Clone)]
pub(super) struct Asking {
    pub(super) caller: Caller,
    pub(super) target: Arc<Target>,
    control: Control,
}

/// A workspace and its name.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) workspace: Arc<Workspace>,
    pub(super) name: String,
    /// Who asks, as what its account is there.
    pub(super) caller: Caller,
}

impl Asking {
    /// # Errors
    /// The request came past the door, which can't be.
    pub(super) fn of(control: &Control, context: &RequestContext<RoleServer>) -> Result<Self, ErrorData> {
        Self::behind(control, &context.extensions, client_info(context).as_ref())
    }

    /// The same of whatever came by HTTP.
    ///
    /// # Errors
    /// It came past the door, which can't be.
    pub(super) fn behind(
        control: &Control,
        extensions: &Extensions,
        client: Option<&Implementation>,
    ) -> Result<Self, ErrorData> {
        let extensions = extensions.get::<Parts>().map(|parts| &parts.extensions);
        let found =
            extensions.and_then(|found| Some((found.get::<Arc<Caller>>()?, found.get::<Arc<Target>>()?)));
        let (door, target) = found.ok_or_else(|| ErrorData::internal_error("nobody knows who asks", None))?;
        let caller = caller(door, client);
        Ok(Self { caller, target: target.clone(), control: control.clone() })
    }

    /// The workspace that is named, or else the endpoint's.
    pub(super) fn place(&self, named: Option<&str>) -> Result<Place, executor_control::Problem> {
        let name = named.unwrap_or(&self.target.workspace);
        let caller = self.control.caller_in(&self.caller, name)?;
        caller.expect(Capability::Call)?;
        Ok(Place { workspace: self.control.workspace(&caller, name)?, name: name.to_owned(), caller })
    }
}

/// Whether a request is of the revision without sessions.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn client_info(context: &RequestContext<RoleServer>) -> Option<Implementation> {
    // Where there is no session the library makes a peer up.
    if is_modern(context) { context.meta.client_info() } else { context.client_info() }
}

/// The caller of a tool. A model calls it, so it accepts nothing.
fn caller(door: &Caller, client: Option<&Implementation>) -> Caller {
    // A name that the door knows, as a token's, is better than what a client
    // says of itself.
    let unnamed = !door.has_token() && UNNAMED.contains(&door.client.as_str());
    let said = client.map(|client| text::line(&client.name, CLIENT_LIMIT)).filter(|name| !name.is_empty());
    let client = match said {
        Some(name) if unnamed => name,
        _ => door.client.clone(),
    };
    door.as_model(client)
}

#[cfg(test)]
mod tests {
    use executor_control::{Capability, Surface};

    use super::*;

    fn door(client: &str) -> Caller {
        Caller::owner(client, Surface::Mcp)
    }

    #[test]
    fn a_client_is_called_what_it_says_unless_the_door_knows_better() {
        let named = |client: &str, said: Option<&str>| {
            let said = said.map(|said| Implementation::new(said, "1"));
            caller(&door(client), said.as_ref()).client
        };
        let said = "Claude\u{1b}[31m Code\n";
        assert_eq!(named("mcp", Some(said)), "Claude Code");
        assert_eq!(named("mcp", None), "mcp");
        assert_eq!(named("mcp", Some("\u{7}")), "mcp");
        assert_eq!(named("laptop", Some(said)), "laptop");
        assert_eq!(named("mcp", Some(&"x".repeat(500))).chars().count(), CLIENT_LIMIT);
    }

    #[test]
    fn only_a_person_accepts() {
        let model = caller(&door("mcp"), Some(&Implementation::new("agent", "1")));
        assert!(!model.may(Capability::Approve) && model.may(Capability::Call));
        let person = model.answered_by_person();
        assert!(person.may(Capability::Approve));
        assert_eq!(person.client, "agent (elicitation)");
    }
}
