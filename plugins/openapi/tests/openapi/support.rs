//! A catalogue and an API that write down what they get.

use std::collections::BTreeMap;

use executor_common::seam::{
    Answer, AuthMethod, Call, Chunk, Document, Failure, FileWriter, Http, HttpRequest, HttpResponse,
    IndexRequest, Sink, StoredFile, Summary, Tool, Warning,
};
use executor_openapi::source;
use serde_json::{Value, json};

/// What a document became.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<Tool>,
    pub(crate) definitions: BTreeMap<String, String>,
    pub(crate) methods: Vec<AuthMethod>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) batches: Vec<(usize, usize)>,
    pub(crate) progress: Vec<u64>,
    pub(crate) summary: Option<Summary>,
}

impl Sink for Catalog {
    fn put_tools(&mut self, batch: Vec<Tool>) -> Result<Vec<(u32, String)>, Failure> {
        assert!(!self.methods.is_empty(), "auth methods come before tools");
        let size = batch
            .iter()
            .map(|tool| tool.input_schema.len() + tool.description.len() + tool.binding.len())
            .sum();
        self.batches.push((batch.len(), size));
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

    fn progress(&mut self, done: u64, _total: Option<u64>, _what: &str) {
        self.progress.push(done);
    }
}

impl Catalog {
    pub(crate) fn tool(&self, name: &str) -> &Tool {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        self.tools
            .iter()
            .find(|tool| tool.name == name)
            .unwrap_or_else(|| panic!("no {name} among {names:?}"))
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
        let schema = self
            .definitions
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {:?}", self.definitions.keys()));
        serde_json::from_str(schema).unwrap()
    }

    pub(crate) fn meta(&self, name: &str) -> Value {
        serde_json::from_str(self.tool(name).meta.as_deref().unwrap()).unwrap()
    }

    pub(crate) fn codes(&self) -> Vec<&str> {
        self.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }

    pub(crate) fn summary_meta(&self) -> Value {
        serde_json::from_str(self.summary.as_ref().unwrap().meta.as_deref().unwrap()).unwrap()
    }

    /// Calls a tool and gives the request that left.
    pub(crate) fn request(&self, tool: &str, arguments: Value) -> Result<HttpRequest, Failure> {
        self.request_with(tool, arguments, json!({}))
    }

    pub(crate) fn request_with(
        &self,
        tool: &str,
        arguments: Value,
        settings: Value,
    ) -> Result<HttpRequest, Failure> {
        let mut api = Api::answering(204, &[], b"");
        let call = call(self.tool(tool), &arguments, &settings);
        let validated = source::validate(&call);
        let answer = source::invoke(&call, &mut api);
        match &answer {
            Err(failure) if api.requests.is_empty() => {
                assert_eq!(validated.as_ref(), Err(failure), "validate says what invoke says")
            }
            _ => validated.unwrap(),
        }
        answer?;
        Ok(api.requests.remove(0))
    }

    pub(crate) fn url(&self, tool: &str, arguments: Value) -> String {
        self.request(tool, arguments).unwrap_or_else(|failure| panic!("{}", failure.message)).url
    }

    pub(crate) fn refusal(&self, tool: &str, arguments: Value) -> String {
        match self.request(tool, arguments) {
            Err(failure) => {
                assert_eq!(failure.code, "invalid-arguments");
                failure.message
            }
            Ok(request) => panic!("sent {}", request.url),
        }
    }
}

pub(crate) fn call(tool: &Tool, arguments: &Value, settings: &Value) -> Call {
    Call {
        tool: tool.name.clone(),
        binding: tool.binding.clone(),
        arguments: arguments.to_string(),
        settings: settings.to_string(),
    }
}

pub(crate) fn try_index(body: &[u8], url: Option<&str>, settings: &Value) -> Result<Catalog, Failure> {
    index_among(&mut Library::default(), body, url, settings)
}

/// Indexes a document that may refer to those of a library.
pub(crate) fn index_among(
    library: &mut Library,
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
    let summary = source::index(&request, &mut catalog, library)?;
    catalog.summary = Some(summary);
    Ok(catalog)
}

pub(crate) const URL: &str = "https://example.com/specs/openapi.json";

pub(crate) fn index(document: &Value) -> Catalog {
    try_index(document.to_string().as_bytes(), Some(URL), &json!({}))
        .unwrap_or_else(|failure| panic!("{}", failure.message))
}

/// A 3.0 document with these paths and one server.
pub(crate) fn document(paths: &Value) -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Test", "version": "1"},
        "servers": [{"url": "https://api.example.com/v1"}],
        "paths": paths,
    })
}

/// Documents by their URL, and what was asked for.
#[derive(Default)]
pub(crate) struct Library {
    pub(crate) documents: BTreeMap<String, Vec<u8>>,
    /// A folder that stands for the host `files.example`.
    pub(crate) folder: Option<std::path::PathBuf>,
    pub(crate) redirects: BTreeMap<String, String>,
    pub(crate) asked: Vec<String>,
}

impl Http for Library {
    type Response = Reply;
    type File = File;

    fn send(&mut self, request: HttpRequest) -> Result<Reply, Failure> {
        self.asked.push(request.url.clone());
        let reply = |status, headers, body: Vec<u8>| {
            Ok(Reply { status, headers, chunks: vec![Ok(Some(body))].into_iter() })
        };
        if let Some(to) = self.redirects.get(&request.url) {
            return reply(302, vec![("Location".to_owned(), to.clone().into_bytes())], Vec::new());
        }
        let path = request.url.strip_prefix("https://files.example/");
        let file = path.and_then(|path| std::fs::read(self.folder.as_ref()?.join(path)).ok());
        match file.or_else(|| self.documents.get(&request.url).cloned()) {
            Some(body) => reply(200, Vec::new(), body),
            None => reply(404, Vec::new(), Vec::new()),
        }
    }

    fn create_file(&mut self, _name: Option<&str>, _media_type: Option<&str>) -> Result<File, Failure> {
        panic!("an index keeps no files")
    }

    fn read_file(&mut self, reference: &str, _max_bytes: u64) -> Result<Vec<u8>, Failure> {
        panic!("an index reads no files, and not {reference}")
    }
}

/// An API that gives one answer, in chunks.
pub(crate) struct Api {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) chunks: Vec<Result<Option<Vec<u8>>, Failure>>,
    pub(crate) requests: Vec<HttpRequest>,
    pub(crate) refusal: Option<Failure>,
    pub(crate) files: std::rc::Rc<std::cell::RefCell<Vec<u8>>>,
}

impl Api {
    pub(crate) fn answering(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let headers =
            headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        let chunks = body.chunks(7000).map(|chunk| Ok(Some(chunk.to_vec()))).collect();
        Self { status, headers, chunks, requests: Vec::new(), refusal: None, files: std::rc::Rc::default() }
    }

    pub(crate) fn call(
        &mut self,
        catalog: &Catalog,
        tool: &str,
        arguments: &Value,
    ) -> Result<Answer, Failure> {
        source::invoke(&call(catalog.tool(tool), arguments, &json!({})), self)
    }
}

pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    chunks: std::vec::IntoIter<Result<Option<Vec<u8>>, Failure>>,
}

pub(crate) struct File(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

impl Http for Api {
    type Response = Reply;
    type File = File;

    fn send(&mut self, request: HttpRequest) -> Result<Reply, Failure> {
        self.requests.push(request);
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        let chunks = std::mem::take(&mut self.chunks).into_iter();
        Ok(Reply { status: self.status, headers: self.headers.clone(), chunks })
    }

    fn create_file(&mut self, _name: Option<&str>, _media_type: Option<&str>) -> Result<File, Failure> {
        Ok(File(self.files.clone()))
    }

    fn read_file(&mut self, reference: &str, _max_bytes: u64) -> Result<Vec<u8>, Failure> {
        panic!("files are sent without being read, {reference} too")
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
        self.chunks.next().unwrap_or(Ok(Some(Vec::new())))
    }

    fn into_file(self, media_type: Option<&str>) -> Result<StoredFile, Failure> {
        let size = self
            .chunks
            .map(|chunk| chunk.map(|bytes| bytes.map_or(0, |bytes| bytes.len() as u64)))
            .sum::<Result<u64, Failure>>()?;
        Ok(StoredFile { reference: format!("moved:{}", media_type.unwrap_or("?")), size: Some(size) })
    }
}

impl FileWriter for File {
    fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self) -> StoredFile {
        let size = self.0.borrow().len() as u64;
        StoredFile { reference: "written".to_owned(), size: Some(size) }
    }
}

pub(crate) fn header<'r>(request: &'r HttpRequest, name: &str) -> Option<&'r str> {
    request
        .headers
        .iter()
        .find(|(held, _)| held == name)
        .map(|(_, value)| std::str::from_utf8(value).unwrap())
}

pub(crate) fn text_of(request: &HttpRequest) -> String {
    let bytes: Vec<u8> = request
        .body
        .iter()
        .flat_map(|chunk| match chunk {
            Chunk::Bytes(bytes) => bytes.clone(),
            Chunk::File(reference) => format!("<{reference}>").into_bytes(),
        })
        .collect();
    String::from_utf8(bytes).unwrap()
}
