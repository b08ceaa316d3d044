//! The five tools.

use serde_json::{Value, json};

use crate::executor::adapter::types::{Annotations, AuthMethod, Failure, Tool as Described};
use crate::failure;

/// The id of the one auth method.
const TOKEN: &str = "token";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Returns its arguments.
    Echo,
    /// GETs a path.
    Fetch,
    /// POSTs to a path.
    Write,
    /// Asks a person, twice.
    Ask,
    /// The same, by a tool that may change something.
    AskWrite,
}

impl Tool {
    pub(crate) const ALL: [Self; 5] = [Self::Echo, Self::Fetch, Self::Write, Self::Ask, Self::AskWrite];

    /// # Errors
    /// `unknown-tool`, as after an update that dropped one.
    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        let found = Self::ALL.into_iter().find(|tool| tool.name() == name);
        found.ok_or_else(|| failure("unknown-tool", format!("there is no tool {name:?} here")))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Fetch => "fetch",
            Self::Write => "write",
            Self::Ask => "ask",
            Self::AskWrite => "askWrite",
        }
    }

    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Echo | Self::Fetch | Self::Ask => "GET",
            Self::Write | Self::AskWrite => "POST",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Echo => "Returns its arguments as they are.",
            Self::Fetch => "Gets a path of the API and returns the status and the body.",
            Self::Write => "Posts JSON to a path of the API and returns the status and the body.",
            Self::Ask | Self::AskWrite => {
                "Asks a person for a title, then to visit a page, and returns both answers."
            }
        }
    }

    fn input_schema(self) -> Value {
        let path = json!({
            "type": "string",
            "pattern": "^/",
            "description": "What follows the base URL, with the query.",
        });
        match self {
            Self::Echo => json!({ "type": "object" }),
            Self::Ask | Self::AskWrite => json!({
                "type": "object",
                "properties": {
                    "page": { "type": "string", "description": "The page." },
                    "secret": { "type": "boolean", "description": "Ask for a password instead." },
                    "meanwhile": {
                        "type": "integer",
                        "description": "Ask so many times while the call goes on, for a title or the page.",
                    },
                },
                "additionalProperties": false,
            }),
            Self::Fetch => json!({
                "type": "object",
                "properties": { "path": path },
                "required": ["path"],
                "additionalProperties": false,
            }),
            Self::Write => json!({
                "type": "object",
                "properties": {
                    "path": path,
                    "body": {},
                    "meanwhile": { "type": "integer", "description": "Ask so many times after it was sent." },
                },
                "required": ["path", "body"],
                "additionalProperties": false,
            }),
        }
    }

    fn output_schema(self) -> Option<Value> {
        match self {
            Self::Echo | Self::Ask | Self::AskWrite => None,
            Self::Fetch | Self::Write => Some(json!({
                "type": "object",
                "properties": { "status": { "type": "integer" }, "body": {} },
                "required": ["status", "body"],
            })),
        }
    }

    /// Which auth methods a call takes: one of these alternatives, an empty one
    /// meaning that it also works without.
    fn auth(self) -> Vec<Vec<String>> {
        match self {
            Self::Echo | Self::Ask | Self::AskWrite => Vec::new(),
            Self::Fetch | Self::Write => vec![vec![TOKEN.to_owned()], Vec::new()],
        }
    }

    /// The tool as the catalogue has it. The host calls a tool that is not
    /// read-only only after its policy said so, and holds one that is to GET,
    /// HEAD and OPTIONS.
    pub(crate) fn described(self) -> Described {
        Described {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            input_schema: self.input_schema().to_string(),
            output_schema: self.output_schema().map(|schema| schema.to_string()),
            annotations: Annotations {
                title: None,
                read_only: !matches!(self, Self::Write | Self::AskWrite),
                destructive: false,
                idempotent: !matches!(self, Self::Write | Self::AskWrite),
                deprecated: false,
                requires_approval: false,
                meta: None,
            },
            auth: self.auth(),
            // What `index` learned and a call needs would stand here; it comes
            // back with each call, so that no document is parsed again.
            binding: Vec::new(),
            meta: None,
        }
    }

    /// Checks what the schema can't be trusted with: where a request goes.
    ///
    /// # Errors
    /// `invalid-arguments`, naming the argument.
    pub(crate) fn check(self, arguments: &Value) -> Result<(), Failure> {
        if matches!(self, Self::Echo | Self::Ask | Self::AskWrite) {
            return Ok(());
        }
        match arguments["path"].as_str() {
            Some(path) if path.starts_with('/') => Ok(()),
            _ => Err(failure("invalid-arguments", "path: a text that begins with / is needed")),
        }
    }
}

/// A bearer token, for the host to ask for and to place.
pub(crate) fn token() -> AuthMethod {
    let config = json!({
        "placements": [{ "in": "header", "name": "Authorization", "template": "Bearer {token}" }],
        "variables": [{ "name": "token", "label": "API token", "secret": true }],
    });
    AuthMethod {
        id: TOKEN.to_owned(),
        kind: "http-bearer".to_owned(),
        label: "API token".to_owned(),
        config: config.to_string(),
        meta: None,
    }
}
