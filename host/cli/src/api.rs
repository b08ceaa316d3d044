//! The daemon's HTTP API, as the commands use it.

use std::io::BufRead;
use std::os::unix::net::UnixStream;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::context::Context;
use crate::daemon;
use crate::failure::Failure;
use crate::http::{self, HttpError, Request, Response, Stream};

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";

/// Items that are asked for at once.
const PAGE: usize = 1000;

/// What a segment or a query value keeps as it is (RFC 3986 unreserved).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// An answer that is no error.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Null where there is no body.
    pub(crate) value: Value,
}

/// A way to the daemon of one home; each request is a connection.
#[derive(Debug)]
pub(crate) struct Api<'c> {
    context: &'c Context,
    start: bool,
}

impl<'c> Api<'c> {
    /// Starts the daemon where none runs.
    pub(crate) fn new(context: &'c Context) -> Self {
        Self { context, start: true }
    }

    /// Fails where none runs.
    pub(crate) fn running(context: &'c Context) -> Self {
        Self { context, start: false }
    }

    pub(crate) fn get(&self, target: &str) -> Result<Answer, Failure> {
        self.ask("GET", target, None)
    }

    /// A whole list, page by page.
    pub(crate) fn list(&self, target: &str) -> Result<Answer, Failure> {
        self.list_with(target, &[])
    }

    /// The same with more in the query.
    pub(crate) fn list_with(&self, target: &str, more: &[(&str, &str)]) -> Result<Answer, Failure> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut values = vec![("limit", Some(PAGE.to_string())), ("cursor", cursor.take())];
            values.extend(more.iter().map(|(name, value)| (*name, Some((*value).to_owned()))));
            let mut page = self.get(&(target.to_owned() + &query(&values)))?.value;
            if let Value::Array(found) = page["items"].take() {
                items.extend(found);
            }
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                return Ok(Answer { value: json!({ "items": items }) });
            }
        }
    }

    pub(crate) fn post(&self, target: &str, body: &Value) -> Result<Answer, Failure> {
        self.ask("POST", target, Some(body))
    }

    pub(crate) fn delete(&self, target: &str) -> Result<Answer, Failure> {
        self.ask("DELETE", target, None)
    }

    /// Sends a file as it is read. `name` says in errors what that is.
    pub(crate) fn upload(&self, target: &str, name: &str, body: Stream<'_>) -> Result<Answer, Failure> {
        let stream = daemon::connect(self.context, self.start)?;
        let request = Request { method: "POST", target, accept: JSON, body: None, headers: &[] };
        let answered = http::upload(stream, &request, body)
            .map_err(|error| Failure::usage(format!("{name} can't be read: {error}")))?;
        whole(answered?)
    }

    /// The bytes of an answer that is no JSON, to be read as they come.
    pub(crate) fn download(&self, target: &str) -> Result<impl BufRead + use<>, Failure> {
        let response = self.send("GET", target, None, "*/*")?;
        if response.status >= 400 {
            whole(response)?;
            return Err(Failure::bug("the daemon's error is none"));
        }
        Ok(response.into_reader())
    }

    /// A request whose progress is told while it lasts.
    pub(crate) fn post_with_progress(
        &self,
        target: &str,
        body: &Value,
        mut progress: impl FnMut(&Value),
    ) -> Result<Answer, Failure> {
        let response = self.send("POST", target, Some(body), LINES)?;
        if response.media_type != LINES {
            return whole(response);
        }
        let mut outcome = None;
        response.read_lines(|line| -> Result<(), Failure> {
            let mut value = parse(line)?;
            if let Some(result) = value.get_mut("result") {
                outcome = Some(Ok(Answer { value: result.take() }));
            } else if value.get("error").is_some() {
                outcome = Some(Err(Failure::from_answer(422, value)));
            } else {
                progress(&value["progress"]);
            }
            Ok(())
        })?;
        outcome.unwrap_or_else(|| Err(Failure::failed("the daemon ended before it was done").hint(LOG_HINT)))
    }

    fn ask(&self, method: &str, target: &str, body: Option<&Value>) -> Result<Answer, Failure> {
        whole(self.send(method, target, body, JSON)?)
    }

    fn send(
        &self,
        method: &str,
        target: &str,
        body: Option<&Value>,
        accept: &str,
    ) -> Result<Response<UnixStream>, Failure> {
        let stream = daemon::connect(self.context, self.start)?;
        let body = body.map(|body| serde_json::to_vec(body).expect("a JSON value can be written"));
        let request = Request { method, target, accept, body: body.as_deref(), headers: &[] };
        Ok(http::exchange(stream, &request)?)
    }
}

/// What is said where the daemon ended, or was ended, while it was asked.
pub(crate) const BROKEN_OFF: &str = "the daemon broke off before it answered";

const LOG_HINT: &str = "`logs/daemon.log` in the home may say why";

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        match error {
            HttpError::Stream(error) => Failure::no_daemon(format!("{BROKEN_OFF}: {error}")).hint(LOG_HINT),
            HttpError::Answer(why) => Failure::bug(format!("the daemon's answer can't be used: {why}")),
        }
    }
}

fn whole(response: Response<UnixStream>) -> Result<Answer, Failure> {
    let status = response.status;
    let body = response.read()?;
    let value = if body.is_empty() { Value::Null } else { parse(&body)? };
    if status >= 400 {
        return Err(Failure::from_answer(status, value));
    }
    Ok(Answer { value })
}

fn parse(json: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(json)
        .map_err(|error| Failure::bug(format!("the daemon's answer is no JSON: {error}")))
}

/// A path of its segments, each encoded.
pub(crate) fn path(segments: &[&str]) -> String {
    let mut path = String::from("/v1");
    for segment in segments {
        path.push('/');
        path.extend(utf8_percent_encode(segment, ENCODED));
    }
    path
}

/// A query of the values that there are, or nothing.
pub(crate) fn query(values: &[(&str, Option<String>)]) -> String {
    let mut query = String::new();
    for (name, value) in values {
        let Some(value) = value else { continue };
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(name);
        query.push('=');
        query.extend(utf8_percent_encode(value, ENCODED));
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_can_not_leave_its_place() {
        assert_eq!(path(&["workspaces", "a/../b", "x?y#z"]), "/v1/workspaces/a%2F..%2Fb/x%3Fy%23z");
        assert_eq!(path(&["tools", "github.issues.get"]), "/v1/tools/github.issues.get");
        let values =
            [("query", Some("a&b=c é".to_owned())), ("limit", None), ("offset", Some("2".to_owned()))];
        assert_eq!(query(&values), "?query=a%26b%3Dc%20%C3%A9&offset=2");
        assert_eq!(query(&[]), "");
    }
}
