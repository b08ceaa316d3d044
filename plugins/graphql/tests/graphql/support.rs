//! A catalogue and an API that write down what they get.

use std::collections::BTreeMap;

use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use executor_common::seam::{
    Answer, AuthMethod, Call, Chunk, Document, Failure, FileWriter, Http, HttpRequest, HttpResponse,
    IndexRequest, Sink, StoredFile, Summary, Tool, Warning,
};
use executor_graphql::source;
use serde_json::{Value, json};

pub(crate) const ENDPOINT: &str = "https://api.example.com/graphql";

/// What a schema became, with the files that it put down.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<Tool>,
    pub(crate) definitions: BTreeMap<String, String>,
    pub(crate) methods: Vec<AuthMethod>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) summary: Option<Summary>,
    pub(crate) files: Files,
}

impl Sink for Catalog {
    fn put_tools(&mut self, batch: Vec<Tool>) -> Result<Vec<(u32, String)>, Failure> {
        assert!(!self.methods.is_empty(), "auth methods come before tools");
        self.tools.extend(batch);
        Ok(Vec::new())
    }

    fn put_definitions(&mut self, batch: Vec<(String, String)>) -> Result<(), Failure> {
        for (name, schema) in batch {
            assert!(self.definitions.insert(name.clone(), schema).is_none(), "{name} twice");
        }
        Ok(())
    }

    fn put_auth_methods(&mut self, methods: Vec<AuthMethod>) -> Result<(), Failure> {
        self.methods = methods;
        Ok(())
    }

    fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    fn progress(&mut self, _done: u64, _total: Option<u64>, _what: &str) {}
}

impl Catalog {
    pub(crate) fn tool(&self, name: &str) -> &Tool {
        let found = self.tools.iter().find(|tool| tool.name == name);
        found.unwrap_or_else(|| panic!("no {name} among {:?}", self.names()))
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    pub(crate) fn input(&self, name: &str) -> Value {
        serde_json::from_str(&self.tool(name).input_schema).unwrap()
    }

    pub(crate) fn output(&self, name: &str) -> Value {
        serde_json::from_str(self.tool(name).output_schema.as_deref().unwrap()).unwrap()
    }

    pub(crate) fn definition(&self, name: &str) -> Value {
        let known = self.definitions.keys();
        let schema = self.definitions.get(name).unwrap_or_else(|| panic!("no {name} in {known:?}"));
        serde_json::from_str(schema).unwrap()
    }

    pub(crate) fn meta(&self, name: &str) -> Value {
        serde_json::from_str(self.tool(name).meta.as_deref().unwrap()).unwrap()
    }

    pub(crate) fn codes(&self) -> Vec<&str> {
        self.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }

    pub(crate) fn selection(&self, name: &str) -> String {
        let binding: Value = serde_json::from_slice(&self.tool(name).binding).unwrap();
        binding["s"]["d"].as_str().unwrap_or_default().to_owned()
    }

    /// Calls a tool of an API that gives one answer.
    pub(crate) fn call(&self, api: &mut Api, tool: &str, arguments: &Value) -> Result<Answer, Failure> {
        self.call_with(api, tool, arguments, &json!({"base_url": ENDPOINT}))
    }

    pub(crate) fn call_with(
        &self,
        api: &mut Api,
        tool: &str,
        arguments: &Value,
        settings: &Value,
    ) -> Result<Answer, Failure> {
        api.files.extend(&self.files);
        let call = Call {
            tool: tool.to_owned(),
            binding: self.tool(tool).binding.clone(),
            arguments: arguments.to_string(),
            settings: settings.to_string(),
        };
        let validated = source::validate(&call, api);
        let before = api.requests.len();
        let answer = source::invoke(&call, api);
        match &answer {
            Err(failure) if api.requests.len() == before => {
                assert_eq!(validated.as_ref(), Err(failure), "validate says what invoke says");
            }
            _ => validated.unwrap(),
        }
        answer
    }

    /// The body that leaves for a call.
    pub(crate) fn body(&self, tool: &str, arguments: &Value) -> Value {
        let mut api = Api::answering(200, "application/json", br#"{"errors":[{"message":"x"}]}"#);
        let failure = self.call(&mut api, tool, arguments).unwrap_err();
        assert!(!api.requests.is_empty(), "{}", failure.message);
        serde_json::from_slice(&bytes_of(&api.requests[0])).unwrap()
    }

    pub(crate) fn query(&self, tool: &str, arguments: &Value) -> String {
        self.body(tool, arguments)["query"].as_str().unwrap().to_owned()
    }

    pub(crate) fn refusal(&self, tool: &str, arguments: &Value) -> String {
        let mut api = Api::answering(500, "text/plain", b"sent");
        let failure = self.call(&mut api, tool, arguments).unwrap_err();
        assert!(api.requests.is_empty(), "sent {:?}", api.requests);
        assert_eq!(failure.code, "invalid-arguments", "{}", failure.message);
        failure.message
    }
}

pub(crate) fn try_index(body: &[u8], url: Option<&str>, settings: &Value) -> Result<Catalog, Failure> {
    let mut api = Api::answering(500, "text/plain", b"");
    try_index_at(&mut api, body, url, settings)
}

pub(crate) fn try_index_at(
    api: &mut Api,
    body: &[u8],
    url: Option<&str>,
    settings: &Value,
) -> Result<Catalog, Failure> {
    let mut catalog = Catalog::default();
    let request = IndexRequest {
        config: "{}".to_owned(),
        settings: settings.to_string(),
        document: Some(Document { url: url.map(str::to_owned), media_type: None, body: body.to_vec() }),
        meta: None,
    };
    let summary = source::index(&request, &mut catalog, api)?;
    catalog.summary = Some(summary);
    catalog.files = std::mem::take(&mut api.files);
    Ok(catalog)
}

/// The tools of a schema in SDL.
pub(crate) fn index(sdl: &str) -> Catalog {
    try_index(sdl.as_bytes(), None, &json!({"base_url": ENDPOINT}))
        .unwrap_or_else(|failure| panic!("{}", failure.message))
}

/// A schema that the compiler of Apollo's takes too.
pub(crate) fn compiled(sdl: &str) -> Valid<Schema> {
    Schema::parse_and_validate(sdl, "schema.graphql").unwrap_or_else(|faults| panic!("{faults}"))
}

/// Panics unless the operation is valid.
pub(crate) fn validate(schema: &Valid<Schema>, query: &str) -> Valid<ExecutableDocument> {
    ExecutableDocument::parse_and_validate(schema, query, "operation.graphql")
        .unwrap_or_else(|faults| panic!("{query}\n{faults}"))
}

/// Files that the host holds.
#[derive(Clone, Default)]
pub(crate) struct Files(std::rc::Rc<std::cell::RefCell<BTreeMap<String, Vec<u8>>>>);

impl Files {
    fn extend(&self, other: &Self) {
        if !std::rc::Rc::ptr_eq(&self.0, &other.0) {
            self.0.borrow_mut().extend(other.0.borrow().clone());
        }
    }

    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.0.borrow().values().map(Vec::len).collect()
    }

    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

type Handler = Box<dyn FnMut(&HttpRequest) -> Result<(u16, String, Vec<u8>), Failure>>;

/// An API that answers by what it is asked.
pub(crate) struct Api {
    pub(crate) handler: Handler,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) requests: Vec<HttpRequest>,
    pub(crate) files: Files,
}

impl Api {
    pub(crate) fn answering(status: u16, kind: &str, body: &[u8]) -> Self {
        let (kind, body) = (kind.to_owned(), body.to_vec());
        Self::by(move |_| Ok((status, kind.clone(), body.clone())))
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::answering(status, "application/json; charset=utf-8", body.to_string().as_bytes())
    }

    pub(crate) fn by(
        handler: impl FnMut(&HttpRequest) -> Result<(u16, String, Vec<u8>), Failure> + 'static,
    ) -> Self {
        Self {
            handler: Box::new(handler),
            headers: Vec::new(),
            requests: Vec::new(),
            files: Files::default(),
        }
    }
}

pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    chunks: std::vec::IntoIter<Vec<u8>>,
}

pub(crate) struct File {
    files: Files,
    bytes: Vec<u8>,
}

impl Http for Api {
    type Response = Reply;
    type File = File;

    fn send(&mut self, request: HttpRequest) -> Result<Reply, Failure> {
        let answered = (self.handler)(&request);
        self.requests.push(request);
        let (status, kind, body) = answered?;
        let mut headers = vec![("Content-Type".to_owned(), kind.into_bytes())];
        headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())));
        let chunks: Vec<Vec<u8>> = body.chunks(70_000).map(<[u8]>::to_vec).collect();
        Ok(Reply { status, headers, chunks: chunks.into_iter() })
    }

    fn create_file(&mut self, _name: Option<&str>, _media_type: Option<&str>) -> Result<File, Failure> {
        Ok(File { files: self.files.clone(), bytes: Vec::new() })
    }

    fn read_file(&mut self, reference: &str, max_bytes: u64) -> Result<Vec<u8>, Failure> {
        let files = self.files.0.borrow();
        let bytes = files.get(reference).ok_or_else(|| failure("not-found", "there is no such file"))?;
        assert!(bytes.len() as u64 <= max_bytes);
        Ok(bytes.clone())
    }
}

impl HttpResponse for Reply {
    fn status(&self) -> u16 {
        self.status
    }

    fn headers(&self) -> Vec<(String, Vec<u8>)> {
        self.headers.clone()
    }

    fn read(&mut self, _len: u32, _timeout_ms: u32) -> Result<Option<Vec<u8>>, Failure> {
        Ok(Some(self.chunks.next().unwrap_or_default()))
    }

    fn into_file(self, _media_type: Option<&str>) -> Result<StoredFile, Failure> {
        panic!("an answer of this kind is always read")
    }
}

impl FileWriter for File {
    fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self) -> StoredFile {
        let size = self.bytes.len() as u64;
        let reference = format!("blob:{size}");
        self.files.0.borrow_mut().insert(reference.clone(), self.bytes);
        StoredFile { reference, size: Some(size) }
    }
}

/// A failure of the host's.
pub(crate) fn failure(code: &str, message: &str) -> Failure {
    Failure {
        code: code.to_owned(),
        message: message.to_owned(),
        status: None,
        retryable: false,
        retry_after_ms: None,
        details: None,
    }
}

pub(crate) fn header<'r>(request: &'r HttpRequest, name: &str) -> Option<&'r str> {
    let found = request.headers.iter().find(|(held, _)| held == name);
    found.map(|(_, value)| std::str::from_utf8(value).unwrap())
}

/// The body; a file stands as its reference in angle brackets.
pub(crate) fn bytes_of(request: &HttpRequest) -> Vec<u8> {
    let piece = |chunk: &Chunk| match chunk {
        Chunk::Bytes(bytes) => bytes.clone(),
        Chunk::File(reference) => format!("<{reference}>").into_bytes(),
    };
    request.body.iter().flat_map(piece).collect()
}
