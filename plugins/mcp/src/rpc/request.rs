//! What is said to a server.

use serde_json::json;

use crate::seam::World;

/// The largest whole number that every JSON reader keeps.
const ID_BITS: u64 = (1 << 53) - 1;

/// The members of a request's `params`, each a JSON text, so that what a
/// program gave goes on as it was written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    /// Adds a member, or puts another in its place.
    pub(crate) fn set(&mut self, name: &str, json: impl Into<String>) {
        let json = json.into();
        match self.0.iter_mut().find(|(held, _)| held == name) {
            Some((_, value)) => *value = json,
            None => self.0.push((name.to_owned(), json)),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(held, _)| held != name);
    }

    /// The same with one more member.
    pub(crate) fn with(mut self, name: &str, json: impl Into<String>) -> Self {
        self.set(name, json);
        self
    }

    fn to_json(&self) -> String {
        let members: Vec<String> =
            self.0.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
        format!("{{{}}}", members.join(","))
    }
}

/// A request, ready to be sent once.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Not that of any other request under way.
    pub(crate) id: u64,
    pub(crate) method: &'static str,
    /// One line of JSON.
    pub(crate) text: String,
    /// HTTP headers that go with it alone.
    pub(crate) headers: Vec<(String, String)>,
}

impl Request {
    /// A request with an id of its own. Calls of one process share no memory,
    /// so ids are drawn and not counted.
    pub(crate) fn new(world: &dyn World, method: &'static str, params: &Params) -> Self {
        Self::with_id(fresh_id(world), method, params)
    }

    pub(crate) fn with_id(id: u64, method: &'static str, params: &Params) -> Self {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{}}}"#,
            json!(method),
            params.to_json()
        );
        Self { id, method, text: one_line(text), headers: Vec::new() }
    }
}

/// An id that no request under way has.
pub(crate) fn fresh_id(world: &dyn World) -> u64 {
    (world.random() & ID_BITS).max(1)
}

/// A notification, one line of JSON.
pub(crate) fn notification(method: &str, params: &Params) -> String {
    one_line(format!(r#"{{"jsonrpc":"2.0","method":{},"params":{}}}"#, json!(method), params.to_json()))
}

/// The answer to a request of the server's, one line of JSON.
pub(crate) fn answer(id: &str, result: &str) -> String {
    one_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// The refusal of a request of the server's, one line of JSON.
pub(crate) fn refusal(id: &str, code: i64, message: &str) -> String {
    one_line(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#,
        json!({"code": code, "message": message})
    ))
}

/// Line breaks in JSON stand between its tokens alone.
fn one_line(json: String) -> String {
    if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ") } else { json }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_one_line_and_keep_what_was_written() {
        let params = Params::default()
            .with("name", "\"a\"")
            .with("arguments", "{\n \"n\": 12345678901234567890123 }")
            .with("name", "\"b\\n\"");
        let request = Request::with_id(7, "tools/call", &params);
        assert_eq!(
            request.text,
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"b\\n\",\"arguments\":{  \"n\": 12345678901234567890123 }}}"
        );
        assert_eq!(answer("\"x\"", "{}"), r#"{"jsonrpc":"2.0","id":"x","result":{}}"#);
    }
}
