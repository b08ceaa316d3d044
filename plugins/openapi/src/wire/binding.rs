//! What `index` leaves for `invoke`: compact JSON, and all that a call needs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::seam::Failure;

/// Counts up with every change that an older reader would misread.
const VERSION: u8 = 2;

/// One operation, ready to be called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Binding {
    #[serde(rename = "v")]
    pub(crate) version: u8,
    /// As it is sent.
    #[serde(rename = "m")]
    pub(crate) method: String,
    #[serde(rename = "p")]
    pub(crate) path: Vec<Piece>,
    /// Query that the path template itself has, already encoded.
    #[serde(rename = "q", default, skip_serializing_if = "String::is_empty")]
    pub(crate) query: String,
    /// In order of preference; the first is used unless an argument says else.
    #[serde(rename = "s", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) servers: Vec<Server>,
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) parameters: Vec<Parameter>,
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<Body>,
    /// The `accept` header.
    #[serde(rename = "t")]
    pub(crate) accept: String,
    /// Whether the document promises JSON.
    #[serde(rename = "j", default, skip_serializing_if = "is_false")]
    pub(crate) json: bool,
    /// Whether a link to a next page is taken as an argument.
    #[serde(rename = "x", default, skip_serializing_if = "is_false")]
    pub(crate) next: bool,
    /// Scopes that the operation declares, for the message of a 403.
    #[serde(rename = "o", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) scopes: Vec<String>,
}

impl Binding {
    pub(crate) fn new(method: String) -> Self {
        Self {
            version: VERSION,
            method,
            path: Vec::new(),
            query: String::new(),
            servers: Vec::new(),
            parameters: Vec::new(),
            body: None,
            accept: String::new(),
            json: false,
            next: false,
            scopes: Vec::new(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a binding has only string keys")
    }

    /// # Errors
    /// `binding-invalid`: written by another version, or damaged.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        let stale = |why: &str| {
            Failure::new(
                "binding-invalid",
                format!("the stored binding can't be read ({why}): refresh the source"),
            )
        };
        let binding: Self = serde_json::from_slice(bytes).map_err(|fault| stale(&fault.to_string()))?;
        if binding.version != VERSION {
            return Err(stale(&format!("its version is {}, not {VERSION}", binding.version)));
        }
        let count = binding.parameters.len();
        let whole = binding
            .path
            .iter()
            .all(|piece| !matches!(piece, Piece::Parameter { index, .. } if *index >= count));
        if whole { Ok(binding) } else { Err(stale("its path names a parameter that is not there")) }
    }

    /// Whether sending it twice is the same as once (RFC 9110, section 9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE" | "TRACE" | "QUERY")
    }

    /// Whether a call may choose among servers.
    pub(crate) fn offers_server(&self) -> bool {
        self.servers.len() > 1 || self.servers.iter().any(|server| !server.variables.is_empty())
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A part of the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Piece {
    /// Already encoded.
    #[serde(rename = "l")]
    Literal(String),
    #[serde(rename = "p")]
    Parameter {
        #[serde(rename = "i")]
        index: usize,
        /// Slashes in the value part segments (`{+path}`, `x-multi-segment`).
        #[serde(rename = "m", default, skip_serializing_if = "is_false")]
        multi: bool,
    },
}

/// A base URL, maybe with `{variables}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Server {
    #[serde(rename = "u")]
    pub(crate) template: String,
    #[serde(rename = "v", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) variables: Vec<Variable>,
}

/// A variable of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Variable {
    #[serde(rename = "n")]
    pub(crate) name: String,
    #[serde(rename = "d", default, skip_serializing_if = "String::is_empty")]
    pub(crate) default: String,
    /// The only values allowed, where there are any.
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) choices: Vec<String>,
}

/// Where a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Place {
    #[serde(rename = "p")]
    Path,
    #[serde(rename = "q")]
    Query,
    #[serde(rename = "h")]
    Header,
    #[serde(rename = "c")]
    Cookie,
    /// All of the query (3.2).
    #[serde(rename = "w")]
    QueryString,
}

impl Place {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
            Self::QueryString => "querystring",
        }
    }
}

/// How a value becomes text (OpenAPI 3.1.1, section 4.8.12.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Style {
    #[serde(rename = "s")]
    Simple,
    #[serde(rename = "f")]
    Form,
    #[serde(rename = "l")]
    Label,
    #[serde(rename = "m")]
    Matrix,
    #[serde(rename = "b")]
    Space,
    #[serde(rename = "p")]
    Pipe,
    /// As `tsv` of OpenAPI 2.
    #[serde(rename = "t")]
    Tab,
    #[serde(rename = "d")]
    Deep,
    /// As form, but nothing is encoded (3.2).
    #[serde(rename = "c")]
    Cookie,
}

/// Style and what modifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Encoding {
    #[serde(rename = "s")]
    pub(crate) style: Style,
    #[serde(rename = "x", default, skip_serializing_if = "is_false")]
    pub(crate) explode: bool,
    /// Reserved characters stay as they are.
    #[serde(rename = "r", default, skip_serializing_if = "is_false")]
    pub(crate) reserved: bool,
    /// Arrays under `deepObject` are numbered: `a[0]=x`.
    #[serde(rename = "i", default, skip_serializing_if = "is_false")]
    pub(crate) indexed: bool,
    /// The value is sent as JSON text.
    #[serde(rename = "j", default, skip_serializing_if = "is_false")]
    pub(crate) json: bool,
}

/// What a schema expects, as far as it can be told at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum Shape {
    #[default]
    #[serde(rename = "?")]
    Any,
    #[serde(rename = "s")]
    Scalar,
    #[serde(rename = "a")]
    Array,
    #[serde(rename = "o")]
    Object,
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parameter {
    /// The argument that holds its value.
    #[serde(rename = "n")]
    pub(crate) argument: String,
    /// Its name on the wire, where that is another.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub(crate) wire: Option<String>,
    #[serde(rename = "in")]
    pub(crate) place: Place,
    #[serde(rename = "e")]
    pub(crate) encoding: Encoding,
    #[serde(rename = "r", default, skip_serializing_if = "is_false")]
    pub(crate) required: bool,
    #[serde(rename = "t", default, skip_serializing_if = "is_any")]
    pub(crate) shape: Shape,
    /// What is sent where the argument is left out.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<Value>,
}

fn is_any(shape: &Shape) -> bool {
    *shape == Shape::Any
}

impl Parameter {
    pub(crate) fn wire_name(&self) -> &str {
        self.wire.as_deref().unwrap_or(&self.argument)
    }
}

/// What may be sent as a body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Body {
    #[serde(rename = "r", default, skip_serializing_if = "is_false")]
    pub(crate) required: bool,
    /// The preferred first; the argument `contentType` chooses another.
    #[serde(rename = "t")]
    pub(crate) types: Vec<BodyType>,
}

/// One media type of a body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BodyType {
    #[serde(rename = "m")]
    pub(crate) media_type: String,
    #[serde(rename = "k")]
    pub(crate) kind: BodyKind,
    /// How the fields of a form are written, where not by default.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) fields: Vec<Field>,
}

/// How a field of a form, or a part, is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Field {
    #[serde(rename = "n")]
    pub(crate) name: String,
    #[serde(rename = "e")]
    pub(crate) encoding: Encoding,
    /// Bytes: a text, or a file that the host holds.
    #[serde(rename = "f", default, skip_serializing_if = "is_false")]
    pub(crate) file: bool,
    /// What a part of it calls itself.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub(crate) media_type: Option<String>,
}

impl Field {
    /// Whether it is written as one that nothing is said of.
    pub(crate) fn is_plain(&self) -> bool {
        let Encoding { style, explode, reserved, json, .. } = self.encoding;
        !self.file && self.media_type.is_none() && style == Style::Form && explode && !reserved && !json
    }
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum BodyKind {
    #[serde(rename = "j")]
    Json,
    #[serde(rename = "f")]
    Form,
    /// Fields, each a part of its own.
    #[serde(rename = "m")]
    Multipart,
    /// An array with one JSON value a line, a string, or a file.
    #[serde(rename = "l")]
    Lines,
    /// A string, or a file.
    #[serde(rename = "t")]
    Text,
    /// A string, or a file.
    #[serde(rename = "b")]
    Binary,
}
