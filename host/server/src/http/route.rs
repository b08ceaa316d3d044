//! One row of the table of routes: what a router needs to serve it, a caller
//! to be let through, and a reader to know what it takes and gives.

use std::sync::Arc;

use axum::handler::Handler;
use axum::http::{Method, StatusCode};
use axum::routing::{MethodFilter, MethodRouter, on};
use executor_control::Capability;
use utoipa::openapi::path::{Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Required, ResponseBuilder, Schema};
use utoipa::{IntoParams, ToSchema};

use super::finishing::Finishing;
use super::needs::Needs;
use super::{App, openapi};

/// The schemas that operations refer to, by name.
pub(crate) type Schemas = Vec<(String, RefOr<Schema>)>;

/// Who may come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Anybody, without a token.
    Nothing,
    /// Anybody who is known.
    Token,
    /// Whoever reads or calls: they are shown what they see.
    Look,
    /// Whoever may do this.
    Capability(Capability),
    /// A ticket that was given to somebody who may do this, or their token.
    Ticket(Capability),
    /// Whoever runs the installation.
    Installation,
}

/// One row of the table.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) need: Need,
    handler: Box<dyn FnOnce(MethodFilter) -> MethodRouter<Arc<App>> + Send + Sync>,
    summary: &'static str,
    parameters: Vec<Parameter>,
    /// Its body, and whether there must be one.
    body: Option<(RefOr<Schema>, Required)>,
    /// What a body is.
    takes: &'static str,
    answers: Vec<(StatusCode, Answered)>,
    schemas: Schemas,
    once: bool,
    /// Whether it ends when its client leaves.
    cancellable: bool,
}

/// What most bodies are.
const JSON: &str = "application/json";
/// What files are.
const BYTES: &str = "application/octet-stream";
/// What pages are.
const HTML: &str = "text/html";

/// What an answer holds.
enum Answered {
    Nothing,
    Json(Box<RefOr<Schema>>),
    Other(&'static str),
}

impl Route {
    pub(crate) fn get<T: 'static>(
        path: &'static str,
        summary: &'static str,
        handler: impl Handler<T, Arc<App>>,
    ) -> Self {
        Self::new(Method::GET, path, summary, handler)
    }

    pub(crate) fn post<T: 'static>(
        path: &'static str,
        summary: &'static str,
        handler: impl Handler<T, Arc<App>>,
    ) -> Self {
        Self::new(Method::POST, path, summary, handler)
    }

    pub(crate) fn delete<T: 'static>(
        path: &'static str,
        summary: &'static str,
        handler: impl Handler<T, Arc<App>>,
    ) -> Self {
        Self::new(Method::DELETE, path, summary, handler)
    }

    pub(crate) fn new<T: 'static>(
        method: Method,
        path: &'static str,
        summary: &'static str,
        handler: impl Handler<T, Arc<App>>,
    ) -> Self {
        Self {
            cancellable: method.is_safe(),
            method,
            path,
            need: Need::Capability(Capability::Manage),
            handler: Box::new(|filter| on(filter, handler)),
            summary,
            parameters: Vec::new(),
            body: None,
            takes: JSON,
            answers: Vec::new(),
            schemas: Vec::new(),
            once: false,
        }
    }

    /// Who may come in; whoever manages, where nothing is said.
    pub(crate) fn needs(mut self, need: Need) -> Self {
        self.need = need;
        self
    }

    /// Ends when its client leaves, though it may change something: it takes
    /// its time, and sees itself to what must not be left half done.
    pub(crate) fn cancellable(mut self) -> Self {
        self.cancellable = true;
        self
    }

    /// What it takes in its query.
    pub(crate) fn query<Q: IntoParams>(mut self) -> Self {
        self.parameters.extend(Q::into_params(|| Some(ParameterIn::Query)));
        self
    }

    /// What it takes as its JSON body.
    pub(crate) fn takes<B: ToSchema>(mut self) -> Self {
        self.body = Some((self.named::<B>(), Required::True));
        self
    }

    /// What it takes as its JSON body, where there is one.
    pub(crate) fn may_take<B: ToSchema>(mut self) -> Self {
        self.body = Some((self.named::<B>(), Required::False));
        self
    }

    /// Takes bytes of any media type, which are kept as they are; none are an
    /// empty file.
    pub(crate) fn takes_bytes(mut self) -> Self {
        let bytes = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)));
        self.body = Some((Schema::from(bytes).into(), Required::False));
        self.takes = BYTES;
        self
    }

    /// Takes an `Idempotency-Key`.
    pub(crate) fn once(mut self) -> Self {
        self.once = true;
        self
    }

    /// What it gives as JSON.
    pub(crate) fn gives<V: ToSchema>(mut self, status: StatusCode) -> Self {
        let schema = self.named::<V>();
        self.answers.push((status, Answered::Json(Box::new(schema))));
        self
    }

    /// One of two things that it gives as JSON.
    pub(crate) fn gives_either<V: ToSchema, W: ToSchema>(mut self, status: StatusCode) -> Self {
        let either = OneOfBuilder::new().item(self.named::<V>()).item(self.named::<W>()).build();
        self.answers.push((status, Answered::Json(Box::new(Schema::from(either).into()))));
        self
    }

    /// A page of what it gives.
    pub(crate) fn gives_page<V: ToSchema>(mut self) -> Self {
        let item = self.named::<V>();
        let cursor = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("Where the next page begins; absent on the last one."));
        let page = ObjectBuilder::new()
            .property("items", ArrayBuilder::new().items(item))
            .required("items")
            .property("next_cursor", cursor);
        self.answers.push((StatusCode::OK, Answered::Json(Box::new(Schema::from(page.build()).into()))));
        self
    }

    /// An answer without a body.
    pub(crate) fn gives_nothing(mut self) -> Self {
        self.answers.push((StatusCode::NO_CONTENT, Answered::Nothing));
        self
    }

    /// An answer that is no JSON.
    pub(crate) fn gives_other(mut self, media_type: &'static str) -> Self {
        self.answers.push((StatusCode::OK, Answered::Other(media_type)));
        self
    }

    /// A reference to a type's schema, which is kept with all that it names.
    fn named<T: ToSchema>(&mut self) -> RefOr<Schema> {
        self.schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.schemas);
        Ref::from_schema_name(T::name()).into()
    }

    /// Its place in the router. Who may not come in is turned away there,
    /// before anything of the request is read.
    pub(crate) fn serve(self, app: &Arc<App>) -> (&'static str, MethodRouter<Arc<App>>) {
        let filter = MethodFilter::try_from(self.method).expect("the table has common methods alone");
        let router = (self.handler)(filter);
        let router = if self.cancellable { router } else { router.layer(Finishing) };
        let router = match self.need {
            Need::Nothing => router,
            need => router.layer(Needs::new(app, need, self.path)),
        };
        (self.path, router)
    }

    /// What a reader is told of it, and the schemas that this names.
    pub(crate) fn describe(self) -> (Operation, Schemas) {
        let tag = self.tag();
        let mut operation = OperationBuilder::new()
            .operation_id(Some(self.operation_id()))
            .summary(Some(self.summary))
            .tag(tag);
        for name in path_parameters(self.path) {
            let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
            operation = operation.parameter(
                ParameterBuilder::new()
                    .name(name)
                    .parameter_in(ParameterIn::Path)
                    .required(Required::True)
                    .schema(Some(text)),
            );
        }
        for parameter in self.parameters {
            operation = operation.parameter(parameter);
        }
        if self.once {
            let text = ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(255))
                .pattern(Some("^[ -~]+$"));
            operation = operation.parameter(
                ParameterBuilder::new()
                    .name("Idempotency-Key")
                    .parameter_in(ParameterIn::Header)
                    .required(Required::False)
                    .description(Some("Sent again with the same request, it creates nothing again."))
                    .schema(Some(text)),
            );
        }
        if let Some((body, required)) = self.body {
            let content = ContentBuilder::new().schema(Some(body)).build();
            let body = RequestBodyBuilder::new().content(self.takes, content);
            operation = operation.request_body(Some(body.required(Some(required)).build()));
        }
        // A page says what was wrong on a page, where the handler was reached.
        let page = self.answers.iter().any(|(_, answered)| matches!(answered, Answered::Other(HTML)));
        let refusal = if page {
            let text = ObjectBuilder::new().schema_type(Type::String).build();
            let html = ContentBuilder::new().schema(Some(Schema::from(text))).build();
            let json = ContentBuilder::new().schema(Some(openapi::error_schema())).build();
            let refusal = ResponseBuilder::new().description(openapi::REFUSAL);
            RefOr::T(refusal.content(JSON, json).content(HTML, html).build())
        } else {
            RefOr::Ref(Ref::from_response_name("Error"))
        };
        for (status, answered) in self.answers {
            let said = status.canonical_reason().unwrap_or("An answer");
            let mut response = ResponseBuilder::new().description(said);
            match answered {
                Answered::Nothing => {}
                Answered::Json(schema) => {
                    let content = ContentBuilder::new().schema(Some(*schema)).build();
                    response = response.content(JSON, content);
                }
                Answered::Other(media_type) => {
                    let text = ObjectBuilder::new().schema_type(Type::String).build();
                    let content = ContentBuilder::new().schema(Some(Schema::from(text))).build();
                    response = response.content(media_type, content);
                }
            }
            operation = operation.response(status.as_str(), response);
        }
        operation = operation.response("default", refusal);
        if self.need == Need::Nothing {
            operation =
                operation.securities(Some([utoipa::openapi::security::SecurityRequirement::default()]));
        }
        (operation.build(), self.schemas)
    }

    /// Whether it is this one that a request asks for.
    pub(crate) fn is(&self, method: &Method, path: &str) -> bool {
        let mut given = path.split('/');
        let fits = |wanted: &str| {
            given
                .next()
                .is_some_and(|segment| segment == wanted || wanted.starts_with('{') && !segment.is_empty())
        };
        self.method == *method && self.path.split('/').all(fits) && given.next().is_none()
    }

    /// The noun after the workspace, or after the version.
    fn tag(&self) -> &'static str {
        let below = self.path.trim_start_matches("/v1/").trim_start_matches('/');
        let below = below.strip_prefix("workspaces/{workspace}/").unwrap_or(below);
        below.split('/').next().unwrap_or(below)
    }

    /// `post_sources_source_refresh`: method and path, which are unique.
    fn operation_id(&self) -> String {
        let path = self.path.replace("/v1/", "/").replace("workspaces/{workspace}/", "");
        let words = path.split(['/', '.']).filter(|word| !word.is_empty());
        let words = words.map(|word| word.trim_matches(['{', '}']).replace('-', "_"));
        let mut id = self.method.as_str().to_ascii_lowercase();
        for word in words {
            id.push('_');
            id.push_str(&word);
        }
        id
    }
}

fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}
