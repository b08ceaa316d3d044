//! From arguments to the request that leaves.

use serde_json::Value;

use super::arguments::{Arguments, invalid};
use super::binding::{Binding, Encoding, Parameter, Piece, Place, Style};
use super::style::Escapes;
use super::{base, body, encode, next, style};
use crate::catalogue::parameters::is_kept_from_arguments;
use crate::seam::{Failure, HttpRequest};
use crate::settings::Settings;

/// What calls itself `executor` to an API.
const USER_AGENT: &[u8] = b"executor";
/// Longer ones are refused by servers anyway (RFC 9110 asks for 8,000).
const MAX_URL_BYTES: usize = 64 << 10;
const MAX_HEADER_BYTES: usize = 16 << 10;

/// Builds the request of a call. Credentials are the host's to add.
///
/// # Errors
/// `invalid-arguments`, naming the argument; `settings-invalid` where there is
/// no server to send to.
pub(crate) fn build(
    binding: &Binding,
    arguments: &Arguments,
    settings: &Settings,
) -> Result<HttpRequest, Failure> {
    let base = base::choose(&binding.servers, settings, &arguments.server(binding)?)?;
    let mut url = format!("{base}{}", path(binding, arguments)?);
    let query = match arguments.next_link(binding)? {
        None => query(binding, arguments, settings),
        Some(link) => next::query_of(link, &base)
            .map_err(|why| invalid(format!("the argument \"nextLink\" can't be followed: {why}")))?,
    };
    if !query.is_empty() {
        url.push('?');
        url.push_str(&query);
    }
    if url.len() > MAX_URL_BYTES {
        return Err(invalid(format!("the URL would have {} bytes, more than {MAX_URL_BYTES}", url.len())));
    }
    let mut headers = vec![
        ("accept".to_owned(), binding.accept.clone().into_bytes()),
        ("user-agent".to_owned(), USER_AGENT.to_vec()),
    ];
    add_headers(binding, arguments, &mut headers)?;
    let mut chunks = Vec::new();
    if let Some(declared) = &binding.body
        && let Some(value) = arguments.body().filter(|value| declared.required || !value.is_null())
    {
        let kind = arguments.body_type(declared)?;
        let (media_type, written) = body::write(kind, settings.numbered_arrays, value)?;
        chunks = written;
        headers.push(("content-type".to_owned(), media_type.into_bytes()));
    }
    Ok(HttpRequest { method: binding.method.clone(), url, headers, body: chunks })
}

/// The path with its parameters filled in. No value can leave its segment,
/// and none can make one that means "here" or "up".
fn path(binding: &Binding, arguments: &Arguments) -> Result<String, Failure> {
    let mut path = String::new();
    let mut last = "";
    for piece in &binding.path {
        match piece {
            Piece::Literal(text) => path.push_str(text),
            Piece::Parameter { index, multi } => {
                let parameter = &binding.parameters[*index];
                last = &parameter.argument;
                let value = arguments
                    .value(last)
                    .ok_or_else(|| invalid(format!("the path parameter {last:?} is required")))?;
                let encode = if *multi { segments } else { encode::atom };
                let text = style::path(parameter, value, encode);
                path.push_str(
                    &text.ok_or_else(|| invalid(format!("the path parameter {last:?} must not be empty")))?,
                );
            }
        }
    }
    if path.split('/').any(encode::is_dots) {
        return Err(invalid(format!("the path parameter {last:?} would lead to another path ({path})")));
    }
    Ok(path)
}

fn segments(text: &str) -> String {
    text.split('/').map(encode::atom).collect::<Vec<_>>().join("/")
}

fn query(binding: &Binding, arguments: &Arguments, settings: &Settings) -> String {
    let mut pairs = style::Pairs::new();
    for (parameter, value) in given(binding, arguments, Place::Query) {
        let indexed = settings.numbered_arrays.unwrap_or(parameter.encoding.indexed);
        let encoding = Encoding { indexed, ..parameter.encoding };
        style::pairs(parameter.wire_name(), encoding, Escapes::URL, value, &mut pairs);
    }
    let given_pairs = style::query(&pairs);
    let whole = given(binding, arguments, Place::QueryString)
        .map(|(parameter, value)| whole_query(parameter, value, settings));
    let parts = [binding.query.clone(), given_pairs].into_iter().chain(whole);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("&")
}

/// A parameter that is all of the query (OpenAPI 3.2, `in: querystring`).
fn whole_query(parameter: &Parameter, value: &Value, settings: &Settings) -> String {
    match value {
        value if parameter.encoding.json => encode::atom(&value.to_string()),
        Value::Object(map) => body::form(map, &[], settings.numbered_arrays),
        other => encode::literal(style::text(other).trim_start_matches('?')),
    }
}

fn add_headers(
    binding: &Binding,
    arguments: &Arguments,
    headers: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Failure> {
    for (parameter, value) in given(binding, arguments, Place::Header) {
        let name = parameter.wire_name().to_ascii_lowercase();
        let Some(text) = style::header(parameter, value) else {
            continue;
        };
        if is_kept_from_arguments(&name) {
            return Err(invalid(format!("no argument may set the header {name:?}")));
        }
        if text.chars().any(|c| c.is_control() && c != '\t') {
            return Err(invalid(format!(
                "the header parameter {:?} has a line break or another control character",
                parameter.argument
            )));
        }
        if text.len() > MAX_HEADER_BYTES {
            return Err(invalid(format!(
                "the header parameter {:?} has more than {MAX_HEADER_BYTES} bytes",
                parameter.argument
            )));
        }
        headers.retain(|(held, _)| *held != name);
        headers.push((name, text.trim().as_bytes().to_vec()));
    }
    let mut cookies = style::Pairs::new();
    for (parameter, value) in given(binding, arguments, Place::Cookie) {
        let as_is = parameter.encoding.style == Style::Cookie;
        let escapes = if as_is { Escapes::NONE } else { Escapes::URL };
        style::pairs(parameter.wire_name(), parameter.encoding, escapes, value, &mut cookies);
    }
    if !cookies.is_empty() {
        let line: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let line = line.join("; ");
        if line.chars().any(char::is_control) {
            return Err(invalid(
                "a cookie parameter has a line break or another control character".to_owned(),
            ));
        }
        headers.push(("cookie".to_owned(), line.into_bytes()));
    }
    Ok(())
}

fn given<'b>(
    binding: &'b Binding,
    arguments: &'b Arguments,
    place: Place,
) -> impl Iterator<Item = (&'b Parameter, &'b Value)> {
    let here = binding.parameters.iter().filter(move |parameter| parameter.place == place);
    here.filter_map(|parameter| Some((parameter, arguments.value(&parameter.argument)?)))
}
