//! Behaviours that look for authority that nobody gave.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::{env, fs};

use serde_json::{Value, json};

use crate::context::{Context, attempt, reason};
use crate::executor::adapter::blobs::Blob;

/// Got something where there is something: empty lists and texts are nothing.
fn found<T>(what: &str, items: Vec<T>) -> Value
where
    Value: From<Vec<T>>,
{
    match items.is_empty() {
        true => attempt::<Value>(what, Err("empty".to_owned())),
        false => attempt(what, Ok(items)),
    }
}

pub(crate) fn environment(_: &Context) -> Vec<Value> {
    let all: Vec<String> =
        env::vars_os().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
    let one = |name: &str| attempt(name, env::var(name).map_err(|error| error.to_string()));
    let directory = env::current_dir().map(|path| path.display().to_string());
    vec![
        found("all variables", all),
        one("HOME"),
        one("PATH"),
        one("EXECUTOR_HOME"),
        // The guest's own library answers "/" without asking anyone.
        json!({ "what": "the current directory", "got": null, "denied": directory.ok() }),
    ]
}

pub(crate) fn arguments(_: &Context) -> Vec<Value> {
    let all: Vec<String> = env::args_os().map(|one| one.display().to_string()).collect();
    vec![found("all arguments", all)]
}

pub(crate) fn stdin(_: &Context) -> Vec<Value> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(1024).read_to_end(&mut bytes);
    vec![match read {
        Ok(_) => found("the standard input", bytes),
        Err(error) => attempt::<Value>("the standard input", Err(error.to_string())),
    }]
}

pub(crate) fn read_files(_: &Context) -> Vec<Value> {
    let files = [
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/maps",
        "../../etc/passwd",
        "executor.db",
        "~/.ssh/id_rsa",
    ];
    let directories = ["/", ".", "..", "/tmp", "/proc/self/fd"];
    let read = |path: &&str| {
        let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        attempt(format!("reading {path}"), text.map_err(|error| error.to_string()))
    };
    let list = |path: &&str| {
        let entries = fs::read_dir(path).map(|entries| {
            entries.flatten().map(|entry| entry.path().display().to_string()).collect::<Vec<_>>()
        });
        attempt(format!("listing {path}"), entries.map_err(|error| error.to_string()))
    };
    files.iter().map(read).chain(directories.iter().map(list)).collect()
}

pub(crate) fn write_files(_: &Context) -> Vec<Value> {
    let mut attempts: Vec<Value> =
        ["/tmp/adapter-hostile", "adapter-hostile", "../adapter-hostile", "/dev/shm/adapter-hostile"]
            .iter()
            .map(|path| {
                let written = fs::write(path, b"it was here").map(|()| "written");
                attempt(format!("writing {path}"), written.map_err(|error| error.to_string()))
            })
            .collect();
    let made = fs::create_dir("/tmp/adapter-hostile-directory").map(|()| "made");
    attempts.push(attempt("making a directory", made.map_err(|error| error.to_string())));
    let linked = fs::hard_link("/etc/passwd", "/tmp/adapter-hostile-link").map(|()| "linked");
    attempts.push(attempt("linking /etc/passwd", linked.map_err(|error| error.to_string())));
    // A name that nobody has, so that a sandbox that leaks loses nothing.
    let removed = fs::remove_file("/tmp/adapter-hostile").map(|()| "removed");
    attempts.push(attempt("removing a file", removed.map_err(|error| error.to_string())));
    attempts
}

pub(crate) fn sockets(context: &Context) -> Vec<Value> {
    let own = format!("127.0.0.1:{}", context.port());
    let connect = |address: &str| {
        let peer = TcpStream::connect(address).and_then(|stream| stream.peer_addr());
        let peer = peer.map(|peer| peer.to_string()).map_err(|error| error.to_string());
        attempt(format!("connecting to {address}"), peer)
    };
    let mut attempts: Vec<Value> =
        [own.as_str(), "[::1]:80", "169.254.169.254:80", "1.1.1.1:443"].into_iter().map(connect).collect();
    let listening = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let listening = listening.map(|addr| addr.to_string()).map_err(|error| error.to_string());
    attempts.push(attempt("listening", listening));
    let resolved =
        "localhost:80".to_socket_addrs().map(|all| all.map(|one| one.to_string()).collect::<Vec<_>>());
    attempts.push(attempt("resolving localhost", resolved.map_err(|error| error.to_string())));
    let sent = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"out", &own));
    attempts.push(attempt("sending a datagram", sent.map_err(|error| error.to_string())));
    attempts
}

pub(crate) fn blobs(_: &Context) -> Vec<Value> {
    let references = [
        "",
        "1",
        "0",
        "../executor.db",
        "/etc/passwd",
        "file:///etc/passwd",
        "sha256:",
        &"0".repeat(64),
        &"a".repeat(1 << 20),
    ];
    let open = |reference: &&str| {
        let bytes = Blob::open(reference).and_then(|blob| blob.read(0, 64));
        let shown = reference.get(..reference.len().min(40)).unwrap_or_default();
        attempt(format!("opening {shown:?}"), bytes.map_err(|failure| reason(&failure)))
    };
    references.iter().map(open).collect()
}
