//! The records and interfaces of `executor:adapter` in plain Rust, so that
//! everything but the glue in `guest.rs` runs and is tested natively.
//!
//! Fields are named as in `wit/adapter/adapter.wit`; a `String` documented as
//! JSON is what WIT calls `json`.

pub use executor_common::seam::{Detection, Document, IndexRequest, Probe, Warning};

/// Why something can't be done, as the caller will see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// A stable word such as `upstream-not-found`.
    pub code: String,
    /// One sentence for a person.
    pub message: String,
    /// The upstream's HTTP status, where one was received.
    pub status: Option<u16>,
    /// Whether the same call may succeed later without being changed.
    pub retryable: bool,
    /// How long the upstream asked to be left alone, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// JSON.
    pub details: Option<String>,
}

impl Failure {
    /// A failure without a status that the same call would meet again.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            status: None,
            retryable: false,
            retry_after_ms: None,
            details: None,
        }
    }

    /// The same, of a call that may succeed later.
    pub(crate) fn passing(code: &str, message: impl Into<String>) -> Self {
        Self { retryable: true, ..Self::new(code, message) }
    }

    /// Whether the host shows the request to a person instead of sending it.
    pub(crate) fn is_captured(&self) -> bool {
        self.code == "captured"
    }
}

/// One way to authenticate; `config` is JSON of placements, variables, oauth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    /// What a tool's `auth` names.
    pub id: String,
    /// `http-bearer`, `oauth2`.
    pub kind: String,
    /// For a person.
    pub label: String,
    /// JSON.
    pub config: String,
}

/// What is known of a tool's conduct without calling it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Annotations {
    /// For a person.
    pub title: Option<String>,
    /// Changes nothing.
    pub read_only: bool,
    /// May remove something.
    pub destructive: bool,
    /// Twice is the same as once.
    pub idempotent: bool,
    /// JSON: what the server said of the tool that nothing here has a field for.
    pub meta: Option<String>,
}

/// One callable operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// One segment, or `prompts.NAME`, `resources.read`.
    pub name: String,
    /// Plain text.
    pub description: String,
    /// JSON Schema, an object.
    pub input_schema: String,
    /// JSON Schema.
    pub output_schema: Option<String>,
    /// Conduct.
    pub annotations: Annotations,
    /// Alternatives of auth-method ids.
    pub auth: Vec<Vec<String>>,
    /// All that `invoke` needs; see `wire/binding.rs`.
    pub binding: Vec<u8>,
    /// JSON.
    pub meta: Option<String>,
}

/// What was indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The server's title.
    pub title: Option<String>,
    /// The server's version.
    pub version: Option<String>,
    /// Where calls go.
    pub base_url: Option<String>,
    /// JSON: `origins`, and `sign_in` where the server asks for one.
    pub meta: Option<String>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// `elicitation`.
    pub kind: String,
    /// For a person.
    pub message: String,
    /// JSON Schema of the answer.
    pub schema: Option<String>,
    /// A page to visit instead.
    pub url: Option<String>,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Yes, with JSON that fits the schema.
    Accepted(String),
    /// No.
    Declined,
    /// Neither.
    Cancelled,
}

/// What a paused call goes on with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resumption {
    /// As it was given.
    pub state: Vec<u8>,
    /// In the order of the questions.
    pub answers: Vec<Reply>,
}

/// One call of a tool.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The tool's name, for messages.
    pub tool: String,
    /// What `index` stored.
    pub binding: Vec<u8>,
    /// JSON object.
    pub arguments: String,
    /// What a call that paused goes on with.
    pub resume: Option<Resumption>,
    /// JSON: `{"preview": true}` where the call is only to be shown.
    pub meta: Option<String>,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// JSON.
    pub data: String,
    /// The tool calls its own answer an error.
    pub is_error: bool,
    /// JSON object.
    pub metadata: Option<String>,
}

/// A call that can't go on without a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Comes back with the answers.
    pub state: Vec<u8>,
    /// At least one.
    pub questions: Vec<Question>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With an answer.
    Done(Answer),
    /// With questions.
    Paused(Pause),
}

/// What `describe` answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// `mcp`.
    pub kind: String,
    /// For a person.
    pub title: String,
    /// JSON Schema of `config` and `settings` together.
    pub config_schema: String,
}

/// A request as `executor:adapter/http` takes it; credentials are the host's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// Upper case.
    pub method: String,
    /// Absolute.
    pub url: String,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    /// May be empty.
    pub body: Vec<u8>,
}

/// `catalog-sink`.
pub trait Sink {
    /// Gives the tools that were not taken, by index in the batch, and why.
    ///
    /// # Errors
    /// The host's failure, on which indexing ends.
    fn put_tools(&mut self, batch: Vec<Tool>) -> Result<Vec<(u32, String)>, Failure>;
    /// All methods at once.
    ///
    /// # Errors
    /// The host's failure, on which indexing ends.
    fn put_auth_methods(&mut self, methods: Vec<AuthMethod>) -> Result<(), Failure>;
    /// Never fails.
    fn warn(&mut self, warning: Warning);
    /// Never fails.
    fn progress(&mut self, done: u64, total: Option<u64>, what: &str);
}

/// All else that the host offers, and time.
pub trait World {
    /// Sends and waits for the headers; none once `within_ms` has passed, and the request is
    /// abandoned.
    ///
    /// # Errors
    /// The host's failure: refused, unreachable, timed out.
    fn send(&self, request: HttpRequest, within_ms: u32) -> Result<Option<Box<dyn HttpResponse>>, Failure>;
    /// What the host sends where the call ends and the adapter has not returned; none takes it back.
    ///
    /// # Errors
    /// The host's failure: it leads where the call may not go.
    fn farewell(&self, request: Option<HttpRequest>) -> Result<(), Failure>;
    /// Keeps bytes as a file and gives its reference.
    ///
    /// # Errors
    /// The host's failure: quota.
    fn keep(&self, media_type: Option<&str>, bytes: &[u8]) -> Result<String, Failure>;
    /// A handle on the process of the source's connection.
    ///
    /// # Errors
    /// The host's failure: there is no command, it does not start.
    fn attach(&self) -> Result<Box<dyn Process>, Failure>;
    /// `session.get`.
    fn recall(&self, key: &str) -> Option<Vec<u8>>;
    /// `session.swap`.
    fn swap(&self, key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> bool;
    /// Asks a person and waits.
    ///
    /// # Errors
    /// The host's failure.
    fn ask(&self, question: Question) -> Result<Reply, Failure>;
    /// How far a call is.
    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>);
    /// `source-events.changed`.
    fn changed(&self, what: &str);
    /// Milliseconds since 1970, the same for all instances.
    fn now_ms(&self) -> u64;
    /// Milliseconds since some time, that never go back.
    fn ticks_ms(&self) -> u64;
    /// Returns once so many milliseconds have passed.
    fn sleep_ms(&self, ms: u64);
    /// Any number.
    fn random(&self) -> u64;
}

/// The `response` resource.
pub trait HttpResponse {
    /// The HTTP status.
    fn status(&self) -> u16;
    /// Names in any case.
    fn headers(&self) -> Vec<(String, Vec<u8>)>;
    /// Up to `len` bytes, empty at the end, none once `timeout_ms` has passed.
    ///
    /// # Errors
    /// The host's failure: connection lost, limits.
    fn read(&mut self, len: u32, timeout_ms: u32) -> Result<Option<Vec<u8>>, Failure>;
}

/// The `process` resource.
pub trait Process {
    /// Writes one line.
    ///
    /// # Errors
    /// The host's failure: the process is gone.
    fn write_line(&mut self, line: &str) -> Result<(), Failure>;
    /// What the host writes where the call ends and the adapter has not returned; none takes it back.
    ///
    /// # Errors
    /// The host's failure: the line is too long.
    fn farewell(&mut self, line: Option<&str>) -> Result<(), Failure>;
    /// The next line, none once `timeout_ms` has passed.
    ///
    /// # Errors
    /// The host's failure: the process is gone, more was unread than is kept.
    fn read_line(&mut self, timeout_ms: u32) -> Result<Option<String>, Failure>;
    /// True for the first handle that claims `key`.
    fn claim(&mut self, key: &str) -> bool;
    /// Another number for each start of the process.
    fn generation(&self) -> u64;
}
