//! The component around an adapter: the interfaces of `executor:adapter`.

use std::marker::PhantomData;

use crate::adapter::Adapter;
use crate::seam;

/// The bindings of the world `source-adapter`.
#[expect(missing_docs, reason = "generated code")]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/adapter",
        world: "source-adapter",
        pub_export_macro: true,
        default_bindings_module: "executor_common::guest::bindings",
    });
}

use bindings::executor::adapter::{blobs, catalog_sink, http, types};
use bindings::exports::executor::adapter::source as exported;

/// Makes a component of an [`Adapter`].
#[macro_export]
macro_rules! component {
    ($adapter:ty) => {
        type Component = $crate::guest::Component<$adapter>;
        $crate::guest::bindings::export!(Component);
    };
}

/// An adapter as a component.
pub struct Component<A>(PhantomData<A>);

impl<A: Adapter + 'static> exported::Guest for Component<A> {
    #[inline]
    fn describe() -> exported::Info {
        let info = A::describe();
        exported::Info {
            kind: info.kind,
            title: info.title,
            config_schema: info.config_schema,
            meta: info.meta,
        }
    }

    #[inline]
    fn detect(probe: exported::Probe) -> Result<Option<exported::Detection>, types::Failure> {
        let probe = seam::Probe {
            url: probe.url,
            status: probe.status,
            headers: probe.headers,
            document: document(probe.document),
        };
        Ok(A::detect(&probe, &mut Client).map(|found| exported::Detection {
            confidence: found.confidence,
            config: found.config,
            suggested_name: found.suggested_name,
            warnings: found.warnings,
            meta: found.meta,
        }))
    }

    #[inline]
    fn index(request: exported::IndexRequest) -> Result<exported::Summary, types::Failure> {
        let request = seam::IndexRequest {
            config: request.config,
            settings: request.settings,
            document: request.document.map(document),
            meta: request.meta,
        };
        let summary = A::index(&request, &mut Catalog, &mut Client)?;
        Ok(exported::Summary {
            title: summary.title,
            version: summary.version,
            base_url: summary.base_url,
            raw_document: summary.raw_document,
            meta: summary.meta,
        })
    }

    #[inline]
    fn validate(call: exported::Call) -> Result<(), types::Failure> {
        Ok(A::validate(&plain_call(call), &mut Client)?)
    }

    #[inline]
    fn invoke(call: exported::Call) -> Result<exported::Outcome, types::Failure> {
        let answer = A::invoke(&plain_call(call), &mut Client)?;
        let response = exported::Response { data: answer.data, is_error: false, metadata: answer.metadata };
        Ok(exported::Outcome::Done(response))
    }
}

#[inline]
fn document(document: exported::Document) -> seam::Document {
    seam::Document { url: document.url, media_type: document.media_type, body: document.body }
}

#[inline]
fn plain_call(call: exported::Call) -> seam::Call {
    seam::Call { tool: call.tool, binding: call.binding, arguments: call.arguments, settings: call.settings }
}

impl From<seam::Failure> for types::Failure {
    #[inline]
    fn from(failure: seam::Failure) -> Self {
        let seam::Failure { code, message, status, retryable, retry_after_ms, details } = failure;
        Self { code, message, status, retryable, retry_after_ms, details }
    }
}

impl From<types::Failure> for seam::Failure {
    #[inline]
    fn from(failure: types::Failure) -> Self {
        let types::Failure { code, message, status, retryable, retry_after_ms, details } = failure;
        Self { code, message, status, retryable, retry_after_ms, details }
    }
}

struct Catalog;

impl seam::Sink for Catalog {
    #[inline]
    fn put_tools(&mut self, batch: Vec<seam::Tool>) -> Result<Vec<(u32, String)>, seam::Failure> {
        let batch: Vec<types::Tool> = batch.into_iter().map(tool).collect();
        Ok(catalog_sink::put_tools(&batch)?)
    }

    #[inline]
    fn put_definitions(&mut self, batch: Vec<(String, String)>) -> Result<(), seam::Failure> {
        Ok(catalog_sink::put_definitions(&batch)?)
    }

    #[inline]
    fn put_auth_methods(&mut self, methods: Vec<seam::AuthMethod>) -> Result<(), seam::Failure> {
        let methods: Vec<types::AuthMethod> = methods
            .into_iter()
            .map(|method| types::AuthMethod {
                id: method.id,
                kind: method.kind,
                label: method.label,
                config: method.config,
                meta: method.meta,
            })
            .collect();
        Ok(catalog_sink::put_auth_methods(&methods)?)
    }

    #[inline]
    fn warn(&mut self, warning: seam::Warning) {
        catalog_sink::warn(&types::Warning {
            tool: warning.tool,
            code: warning.code,
            message: warning.message,
        });
    }

    #[inline]
    fn progress(&mut self, done: u64, total: Option<u64>, what: &str) {
        catalog_sink::progress(done, total, what);
    }
}

#[inline]
fn tool(tool: seam::Tool) -> types::Tool {
    let annotations = tool.annotations;
    types::Tool {
        name: tool.name,
        description: tool.description,
        input_schema: tool.input_schema,
        output_schema: tool.output_schema,
        annotations: types::Annotations {
            title: annotations.title,
            read_only: annotations.read_only,
            destructive: annotations.destructive,
            idempotent: annotations.idempotent,
            deprecated: annotations.deprecated,
            requires_approval: annotations.requires_approval,
            meta: annotations.meta,
        },
        auth: tool.auth,
        binding: tool.binding,
        meta: tool.meta,
    }
}

struct Client;

impl seam::Http for Client {
    type Response = http::Response;
    type File = blobs::Blob;

    #[inline]
    fn send(&mut self, request: seam::HttpRequest) -> Result<http::Response, seam::Failure> {
        let mut body = Vec::with_capacity(request.body.len());
        for chunk in request.body {
            body.push(match chunk {
                seam::Chunk::Bytes(bytes) => http::Chunk::Bytes(bytes),
                seam::Chunk::File(reference) => http::Chunk::Blob(blobs::Blob::open(&reference)?),
            });
        }
        let request = http::Request {
            method: request.method,
            url: request.url,
            headers: request.headers,
            body,
            auth: None,
        };
        Ok(http::send(request)?)
    }

    #[inline]
    fn create_file(
        &mut self,
        name: Option<&str>,
        media_type: Option<&str>,
    ) -> Result<blobs::Blob, seam::Failure> {
        Ok(blobs::Blob::create(name, media_type)?)
    }

    #[inline]
    fn read_file(&mut self, reference: &str, max_bytes: u64) -> Result<Vec<u8>, seam::Failure> {
        let blob = blobs::Blob::open(reference)?;
        let size = blob.size().unwrap_or(u64::MAX);
        if size > max_bytes {
            return Err(seam::Failure::new("blob", format!("the file {reference} has {size} bytes")));
        }
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < size {
            let piece = blob.read(bytes.len() as u64, PIECE_BYTES)?;
            if piece.is_empty() {
                break;
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }
}

/// What the host reads at once.
const PIECE_BYTES: u32 = 4 << 20;

impl seam::HttpResponse for http::Response {
    #[inline]
    fn status(&self) -> u16 {
        http::Response::status(self)
    }

    #[inline]
    fn headers(&self) -> Vec<(String, Vec<u8>)> {
        http::Response::headers(self)
    }

    #[inline]
    fn read(&mut self, len: u32, timeout_ms: u32) -> Result<Option<Vec<u8>>, seam::Failure> {
        Ok(http::Response::read(self, len, timeout_ms)?)
    }

    #[inline]
    fn into_file(self, media_type: Option<&str>) -> Result<seam::StoredFile, seam::Failure> {
        Ok(stored(&self.into_blob(None, media_type)?))
    }
}

impl seam::FileWriter for blobs::Blob {
    #[inline]
    fn append(&mut self, bytes: &[u8]) -> Result<(), seam::Failure> {
        Ok(blobs::Blob::append(self, bytes)?)
    }

    #[inline]
    fn finish(self) -> seam::StoredFile {
        stored(&self)
    }
}

#[inline]
fn stored(blob: &blobs::Blob) -> seam::StoredFile {
    seam::StoredFile { reference: blob.reference(), size: blob.size() }
}
