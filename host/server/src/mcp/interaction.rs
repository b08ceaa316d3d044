//! An execution's question, as a client asks it of its user.

use executor_control::{Caller, Capability, InteractionView};
use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::text;
use super::who::is_modern;

/// Characters of a question. People read it before they decide.
const MESSAGE_LIMIT: usize = 4_000;
/// Characters of arguments or a body within it.
const DETAIL_LIMIT: usize = 1_500;

/// What a client can ask its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Abilities {
    form: bool,
    url: bool,
    /// Whether a yes can be one from now on: that changes what is allowed,
    /// which whoever asks has to be able to.
    remember: bool,
}

impl Abilities {
    pub(super) fn of(context: &RequestContext<RoleServer>, caller: &Caller) -> Self {
        let said = if is_modern(context) {
            context.meta.client_capabilities()
        } else {
            context.client_capabilities()
        };
        Self { remember: caller.may(Capability::Manage), ..Self::said(said.as_ref()) }
    }

    fn said(capabilities: Option<&ClientCapabilities>) -> Self {
        match capabilities.and_then(|capabilities| capabilities.elicitation.as_ref()) {
            None => Self { form: false, url: false, remember: false },
            // Before there were two ways, there was the form.
            Some(said) => Self {
                form: said.form.is_some() || said.url.is_none(),
                url: said.url.is_some(),
                remember: false,
            },
        }
    }
}

/// What a person said to a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Yes {
        content: Option<Value>,
        /// Whether this tool, as it is now, is allowed from now on.
        remember: bool,
    },
    No,
    /// They closed it: the question stays.
    Nothing,
}

/// A question for a client that can ask it, or none where it can't.
pub(super) fn question(asked: &InteractionView, abilities: Abilities) -> Option<ElicitRequestParams> {
    match &asked.url {
        Some(url) if abilities.url => Some(ElicitRequestParams::UrlElicitationParams {
            meta: None,
            message: message(asked),
            url: url.clone(),
            elicitation_id: asked.id.clone(),
        }),
        _ if abilities.form => Some(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: message(asked),
            requested_schema: schema(asked, abilities.remember)?,
        }),
        _ => None,
    }
}

/// A question as the newest revision carries it.
pub(super) fn input_request(params: ElicitRequestParams) -> InputRequest {
    InputRequest::Elicitation(ElicitRequest::new(params))
}

/// What the client's user said.
pub(super) fn said(asked: &InteractionView, result: ElicitResult) -> Said {
    match result.action {
        ElicitationAction::Accept if asked.kind == "approval" => {
            let remember = result.content.as_ref().and_then(|content| content.get("remember"));
            Said::Yes { content: None, remember: remember.and_then(Value::as_bool).unwrap_or(false) }
        }
        ElicitationAction::Accept => Said::Yes { content: result.content, remember: false },
        ElicitationAction::Decline => Said::No,
        _ => Said::Nothing,
    }
}

fn schema(asked: &InteractionView, remember: bool) -> Option<ElicitationSchema> {
    let schema = match &asked.schema {
        Some(schema) => schema.clone(),
        None if asked.kind == "approval" && remember => json!({
            "type": "object",
            "properties": { "remember": {
                "type": "boolean",
                "title": "Allow from now on",
                "description": "This tool, as it is now, through this connection, without asking again",
                "default": false,
            } },
        }),
        None => json!({ "type": "object", "properties": {} }),
    };
    // A form that MCP has no words for is left to the command line.
    serde_json::from_value(schema).ok()
}

fn message(asked: &InteractionView) -> String {
    let mut lines = vec![text::line(&asked.message, 600)];
    if asked.kind != "approval" {
        lines.push(format!("Asked by {}.", text::line(&asked.tool, 200)));
    }
    if let Some(connection) = &asked.connection {
        lines.push(format!("Connection: {}", text::line(connection, 200)));
    }
    if let Some(url) = &asked.url {
        lines.push(format!("Open: {}", text::line(url, 600)));
    }
    let body = asked.request.as_ref().and_then(|request| request.get("body")).filter(|body| !body.is_null());
    match body {
        Some(Value::String(body)) => lines.push(format!("Body: {}", text::line(body, DETAIL_LIMIT))),
        Some(body) => lines.push(format!("Body: {}", text::line(&body.to_string(), DETAIL_LIMIT))),
        None if asked.kind == "approval" => {
            lines.push(format!("Arguments: {}", text::line(&asked.arguments.to_string(), DETAIL_LIMIT)));
        }
        None => {}
    }
    text::clip(lines.join("\n"), MESSAGE_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(kind: &str) -> InteractionView {
        InteractionView {
            id: "int_1".into(),
            execution: "exe_1".into(),
            kind: kind.into(),
            message: "pets.add would send POST https://x.test/pets".into(),
            status: "pending".into(),
            tool: "pets.add".into(),
            connection: Some("work".into()),
            origin: None,
            arguments: json!({ "name": "<b>Rex</b>\u{202e}" }),
            request: None,
            changes: None,
            schema: None,
            url: None,
            url_is_of_source: None,
            asked_by: None,
            created_at: String::new(),
            expires_at: String::new(),
            answered_by: None,
        }
    }

    fn abilities(elicitation: Value) -> Abilities {
        Abilities::said(Some(&serde_json::from_value(json!({ "elicitation": elicitation })).unwrap()))
    }

    #[test]
    fn a_client_is_asked_only_what_it_can() {
        assert_eq!(Abilities::said(None), Abilities { form: false, url: false, remember: false });
        assert_eq!(abilities(json!({})), Abilities { form: true, url: false, remember: false });
        assert_eq!(abilities(json!({ "url": {} })), Abilities { form: false, url: true, remember: false });
        assert_eq!(
            abilities(json!({ "url": {}, "form": {} })),
            Abilities { form: true, url: true, remember: false }
        );
        let url_alone = abilities(json!({ "url": {} }));
        assert_eq!(question(&asked("approval"), url_alone), None);
        let page = InteractionView { url: Some("https://x.test/go".into()), ..asked("url") };
        assert!(matches!(
            question(&page, url_alone),
            Some(ElicitRequestParams::UrlElicitationParams { url, .. }) if url == "https://x.test/go"
        ));
        let Some(ElicitRequestParams::FormElicitationParams { message, .. }) =
            question(&page, abilities(json!({})))
        else {
            panic!("a form can carry the address")
        };
        assert!(message.contains("Open: https://x.test/go"), "{message}");
    }

    #[test]
    fn an_approval_shows_what_would_be_sent() {
        let asked = InteractionView {
            request: Some(json!({ "method": "POST", "body": "{\"name\":\"Rex\"}" })),
            ..asked("approval")
        };
        let plain = serde_json::to_value(question(&asked, abilities(json!({}))).unwrap()).unwrap();
        assert!(plain["requestedSchema"]["properties"]["remember"].is_null(), "{plain}");
        let manages = Abilities { remember: true, ..abilities(json!({})) };
        let params = question(&asked, manages).unwrap();
        let json = serde_json::to_value(&params).unwrap();
        assert_eq!(json["mode"], "form");
        assert_eq!(json["requestedSchema"]["properties"]["remember"]["type"], "boolean");
        assert_eq!(json["requestedSchema"]["properties"]["remember"]["default"], false);
        let message = json["message"].as_str().unwrap();
        assert!(message.contains("Connection: work\nBody: {\"name\":\"Rex\"}"), "{message}");
        let bare = message_of("approval");
        assert!(bare.contains("Arguments: {\"name\":\"‹b›Rex‹/b›\"}"), "{bare}");
    }

    fn message_of(kind: &str) -> String {
        message(&asked(kind))
    }

    #[test]
    fn a_form_is_passed_on_where_mcp_has_words_for_it() {
        let form = |schema| InteractionView { schema: Some(schema), ..asked("form") };
        let plain = form(json!({ "type": "object", "properties": { "size": { "type": "integer" } } }));
        assert!(question(&plain, abilities(json!({}))).is_some());
        let nested = form(json!({ "type": "object", "properties": { "size": { "type": "object" } } }));
        assert!(question(&nested, abilities(json!({}))).is_none());
        assert!(message_of("form").contains("Asked by pets.add."));
    }

    #[test]
    fn answers_are_what_people_said() {
        let result = |action, content: Value| {
            serde_json::from_value(json!({ "action": action, "content": content })).unwrap()
        };
        let approval = asked("approval");
        assert_eq!(
            said(&approval, result("accept", json!({ "remember": true }))),
            Said::Yes { content: None, remember: true }
        );
        assert_eq!(
            said(&approval, result("accept", json!({ "remember": "yes" }))),
            Said::Yes { content: None, remember: false }
        );
        let form = asked("form");
        let content = Some(json!({ "size": 1 }));
        assert_eq!(
            said(&form, result("accept", json!({ "size": 1 }))),
            Said::Yes { content, remember: false }
        );
        assert_eq!(said(&approval, result("decline", Value::Null)), Said::No);
        assert_eq!(said(&approval, result("cancel", Value::Null)), Said::Nothing);
    }
}
