//! A daemon that knows tokens and nothing else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What it was asked, and the tokens that it has.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) requests: Vec<String>,
    pub(crate) tokens: Vec<Value>,
}

/// Something that happens while a token is made.
pub(crate) type Meanwhile = Box<dyn Fn() + Send>;

/// Serves the socket of a home until the test ends.
pub(crate) fn start(home: &Path, meanwhile: Meanwhile) -> Arc<Mutex<State>> {
    let listener = UnixListener::bind(home.join("executor.sock")).unwrap();
    let state = Arc::new(Mutex::new(State::default()));
    let shared = Arc::clone(&state);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), &shared, &meanwhile);
        }
    });
    state
}

fn answer(stream: UnixStream, state: &Mutex<State>, meanwhile: &Meanwhile) {
    let mut reader = BufReader::new(&stream);
    let mut request = String::new();
    reader.read_line(&mut request).unwrap();
    let request = request.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut state = state.lock().unwrap();
    state.requests.push(request.clone());
    let (status, answer) = match request.split_once(' ').unwrap() {
        // What is asked for is always on a second page.
        ("GET", "/v1/tokens?limit=1000") => ("200 OK", json!({ "items": [], "next_cursor": "second" })),
        ("GET", "/v1/tokens?limit=1000&cursor=second") => ("200 OK", json!({ "items": state.tokens })),
        ("POST", "/v1/tokens") => {
            meanwhile();
            let token: Value = serde_json::from_slice(&body).unwrap();
            state.tokens.push(token.clone());
            let number = state.requests.len();
            ("201 Created", json!({ "token": token, "secret": format!("secret-{number}") }))
        }
        ("DELETE", path) => {
            let name = path.strip_prefix("/v1/tokens/").unwrap();
            state.tokens.retain(|token| token["name"] != name);
            ("204 No Content", Value::Null)
        }
        other => panic!("{other:?}"),
    };
    let body = if answer.is_null() { String::new() } else { answer.to_string() };
    let length = if answer.is_null() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{length}connection: close\r\n\r\n");
    (&stream).write_all(format!("{head}{body}").as_bytes()).unwrap();
}
