//! The operations of a document, in its order.

use serde_json::Value;

use super::parameters;
use crate::document::Refs;
use crate::text::line;

/// More than five times the largest published API has.
pub(crate) const MAX_OPERATIONS: usize = 60_000;

const MAX_METHOD_CHARS: usize = 32;
const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

/// One method of one path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation<'d> {
    /// Lower case where it is one of the specification's own, else as the
    /// document writes it.
    pub(crate) method: &'d str,
    /// As the document writes it.
    pub(crate) path: &'d str,
    /// What all methods of the path share.
    pub(crate) item: &'d Value,
    /// The operation object.
    pub(crate) value: &'d Value,
}

impl<'d> Operation<'d> {
    pub(crate) fn id(&self) -> &'d str {
        self.value.get("operationId").and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn tag(&self) -> Option<&'d str> {
        self.value.get("tags")?.get(0)?.as_str()
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'d str> {
        let own = self.value.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        own.or_else(|| self.item.get(key).and_then(Value::as_str))
    }

    /// `POST /repos/{owner}/{repo}/issues`.
    pub(crate) fn request(&self) -> String {
        format!("{} {}", self.wire_method(), line(self.path, 500))
    }

    /// As it goes over the wire.
    pub(crate) fn wire_method(&self) -> String {
        if METHODS.contains(&self.method) { self.method.to_ascii_uppercase() } else { self.method.to_owned() }
    }
}

/// What was found, and what could not be read.
#[derive(Debug, Default)]
pub(crate) struct Found<'d> {
    pub(crate) operations: Vec<Operation<'d>>,
    /// Sentences about what was left out.
    pub(crate) faults: Vec<String>,
    /// How many operations there were past the bound.
    pub(crate) beyond: usize,
}

/// All operations under `paths` and, as Azure writes paths that differ in
/// their query alone, `x-ms-paths`.
pub(crate) fn find<'d>(root: &'d Value, refs: Refs<'d>) -> Found<'d> {
    let mut found = Found::default();
    for section in ["paths", "x-ms-paths"] {
        let Some(paths) = root.get(section).and_then(Value::as_object) else {
            continue;
        };
        for (path, item) in paths {
            in_item(&mut found, refs, path, item);
        }
    }
    found
}

fn in_item<'d>(found: &mut Found<'d>, refs: Refs<'d>, path: &'d str, item: &'d Value) {
    let item = match refs.follow(item) {
        Ok(item) => item,
        Err(fault) => {
            found.faults.push(format!("the path {path:?} is left out: {fault}"));
            return;
        }
    };
    let Some(members) = item.as_object() else {
        found.faults.push(format!("the path {path:?} is left out: it is not an object"));
        return;
    };
    for (key, value) in members {
        if let Some(method) = METHODS.iter().find(|method| key.eq_ignore_ascii_case(method)) {
            add(found, Operation { method, path, item, value });
        }
    }
    // Methods that the specification does not name, since 3.2.
    let more = members.get("additionalOperations").and_then(Value::as_object);
    for (method, value) in more.into_iter().flatten() {
        if parameters::is_token(method) && method.len() <= MAX_METHOD_CHARS {
            add(found, Operation { method, path, item, value });
        } else {
            found.faults.push(format!("{method:?} of the path {path:?} is left out: it is no HTTP method"));
        }
    }
}

fn add<'d>(found: &mut Found<'d>, operation: Operation<'d>) {
    if !operation.value.is_object() {
        let Operation { method, path, .. } = operation;
        found.faults.push(format!("{method} of the path {path:?} is left out: it is not an object"));
    } else if found.operations.len() == MAX_OPERATIONS {
        found.beyond += 1;
    } else {
        found.operations.push(operation);
    }
}
