//! The records and interfaces of `executor:adapter` in plain Rust, so that
//! everything but the glue in `guest.rs` runs and is tested natively.
//!
//! Fields are named as in `wit/adapter/adapter.wit`; a `String` documented as
//! JSON is what WIT calls `json`.

/// Why a call failed, as the caller will see it.
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
    /// A failure that no request led to: no status, not retryable.
    #[inline]
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
}

/// One way to authenticate; `config` is JSON of placements, variables, oauth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    /// What a tool's `auth` names.
    pub id: String,
    /// `api-key`, `http-bearer`, `http-basic`, `oauth2`, `openid-connect`, …
    pub kind: String,
    /// For a person.
    pub label: String,
    /// JSON.
    pub config: String,
    /// JSON.
    pub meta: Option<String>,
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
    /// Its API says not to use it any more.
    pub deprecated: bool,
    /// Ask a person unless a policy says otherwise.
    pub requires_approval: bool,
    /// JSON.
    pub meta: Option<String>,
}

/// One callable operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// One or more segments: `group.leaf`.
    pub name: String,
    /// Plain text.
    pub description: String,
    /// JSON Schema 2020-12, a plain object.
    pub input_schema: String,
    /// JSON Schema 2020-12.
    pub output_schema: Option<String>,
    /// Conduct.
    pub annotations: Annotations,
    /// Alternatives of auth-method ids that apply together; none: public.
    pub auth: Vec<Vec<String>>,
    /// All that `invoke` needs; in a form of the adapter's own.
    pub binding: Vec<u8>,
    /// JSON.
    pub meta: Option<String>,
}

/// Something in a document that cost a tool, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The tool's name, where it is about one.
    pub tool: Option<String>,
    /// A stable word.
    pub code: String,
    /// One sentence that names the place.
    pub message: String,
}

/// A document as the host fetched it.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Where it came from; what is relative in it is resolved on that.
    pub url: Option<String>,
    /// The `Content-Type` it came with.
    pub media_type: Option<String>,
    /// Its bytes, decompressed.
    pub body: Vec<u8>,
}

/// What the host found behind a URL or a path.
#[derive(Debug, Clone, Default)]
pub struct Probe {
    /// Where it came from.
    pub url: Option<String>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The HTTP headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub document: Document,
}

/// What `detect` made of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    /// 0 to 100.
    pub confidence: u8,
    /// JSON: the source's config.
    pub config: String,
    /// A short name for the source.
    pub suggested_name: String,
    /// Lines for a person.
    pub warnings: Vec<String>,
    /// JSON.
    pub meta: Option<String>,
}

/// What to index.
#[derive(Debug, Clone, Default)]
pub struct IndexRequest {
    /// JSON: what `detect` answered as config.
    pub config: String,
    /// JSON object: what the person set.
    pub settings: String,
    /// The document.
    pub document: Option<Document>,
    /// JSON: `{"connection"}`, the name of the connection whose credential is
    /// placed.
    pub meta: Option<String>,
}

/// What was indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What the API is called.
    pub title: Option<String>,
    /// What version of it.
    pub version: Option<String>,
    /// Where calls go by default.
    pub base_url: Option<String>,
    /// Whether the host should keep the document.
    pub raw_document: bool,
    /// JSON.
    pub meta: Option<String>,
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
    /// JSON object: the source's settings.
    pub settings: String,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// JSON.
    pub data: String,
    /// JSON: `{"status", "headers"}`.
    pub metadata: Option<String>,
}

/// What `describe` answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The kind of source that it makes: `openapi`.
    pub kind: String,
    /// For a person.
    pub title: String,
    /// JSON Schema of `config` and `settings` together.
    pub config_schema: String,
    /// JSON.
    pub meta: Option<String>,
}

/// A part of a request's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    /// Bytes the guest holds.
    Bytes(Vec<u8>),
    /// A file the host holds, by its reference.
    File(String),
}

/// A request as `executor:adapter/http` takes it; credentials are the host's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// Upper case.
    pub method: String,
    /// Absolute.
    pub url: String,
    /// Lower-case names.
    pub headers: Vec<(String, Vec<u8>)>,
    /// One after the other.
    pub body: Vec<Chunk>,
}

/// A file the host holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// What stands in a result as `{"$file": reference}`.
    pub reference: String,
    /// In bytes, where the host knows it.
    pub size: Option<u64>,
}

/// `catalog-sink`.
pub trait Sink {
    /// Gives the tools that were not taken, by index in the batch, and why.
    ///
    /// # Errors
    /// The host's failure, on which indexing ends.
    fn put_tools(&mut self, batch: Vec<Tool>) -> Result<Vec<(u32, String)>, Failure>;
    /// Names and JSON Schemas.
    ///
    /// # Errors
    /// The host's failure, on which indexing ends.
    fn put_definitions(&mut self, batch: Vec<(String, String)>) -> Result<(), Failure>;
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

/// `http`, and the part of `blobs` that is needed beside it.
pub trait Http {
    /// What `send` gives.
    type Response: HttpResponse;
    /// What `create_file` gives.
    type File: FileWriter;
    /// Sends and waits for the headers.
    ///
    /// # Errors
    /// The host's failure: refused, unreachable, timed out.
    fn send(&mut self, request: HttpRequest) -> Result<Self::Response, Failure>;
    /// An empty file to append to.
    ///
    /// # Errors
    /// The host's failure: quota.
    fn create_file(&mut self, name: Option<&str>, media_type: Option<&str>) -> Result<Self::File, Failure>;
    /// All of a file that the host holds, where it has at most `max_bytes`.
    ///
    /// # Errors
    /// The host's failure: there is none, or it is larger.
    fn read_file(&mut self, reference: &str, max_bytes: u64) -> Result<Vec<u8>, Failure>;
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
    /// Moves what is left into the host.
    ///
    /// # Errors
    /// The host's failure: connection lost, limits, quota.
    fn into_file(self, media_type: Option<&str>) -> Result<StoredFile, Failure>;
}

/// The writing half of the `blob` resource.
pub trait FileWriter {
    /// Adds to the end.
    ///
    /// # Errors
    /// The host's failure: quota.
    fn append(&mut self, bytes: &[u8]) -> Result<(), Failure>;
    /// What stands for it in a result.
    fn finish(self) -> StoredFile;
}
