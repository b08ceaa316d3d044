//! Files get into calls and out of answers, byte for byte.

use std::path::PathBuf;
use std::process::Stdio;

use executor_upstreams::graphql::{self, Config};
use executor_upstreams::plain::{self, Answer, Routes, Upstream};
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::wire::Wire;

const BLOBS: &str = "/v1/workspaces/default/blobs";

/// Every byte there is, and what looks like the end of a part.
fn odd_bytes() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.extend_from_slice(b"\r\n--executor-0000--\r\n\"");
    bytes
}

fn file(daemon: &Daemon, name: &str, bytes: &[u8]) -> PathBuf {
    let path = daemon.home().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// `@` and the path of a file of a test's own.
fn named(daemon: &Daemon, name: &str, bytes: &[u8]) -> String {
    format!("@{}", file(daemon, name, bytes).display())
}

/// An API of bytes, as the source `mini`.
async fn mini(daemon: &Daemon) -> Upstream {
    let html = Answer::new(200, &[("content-type", "application/octet-stream")], odd_bytes());
    let routes = Routes::new().on("GET", "/bin", html).on("GET", "/big", Answer::filled(20 << 20)).on(
        "*",
        "/**",
        Answer::json(200, &json!({"done": true})),
    );
    let upstream = plain::start(routes.handler()).await.unwrap();
    let bytes = json!({"type": "string", "format": "binary"});
    let answer =
        |media_type: &str| json!({"200": {"description": "ok", "content": {media_type: {"schema": bytes}}}});
    let done = json!({"200": {"description": "ok", "content": {"application/json": {"schema": {}}}}});
    let takes = |media_type: &str, schema: Value| json!({"required": true, "content": {media_type: {"schema": schema}}});
    let form =
        json!({"type": "object", "properties": {"f": bytes, "note": {"type": "string"}}, "required": ["f"]});
    let document = json!({
        "openapi": "3.0.3", "info": {"title": "Mini", "version": "1"}, "servers": [{"url": upstream.origin()}],
        "paths": {
            "/form": {"post": {"tags": ["x"], "operationId": "form", "responses": done,
                "requestBody": takes("multipart/form-data", form)}},
            "/raw": {"post": {"tags": ["x"], "operationId": "raw", "responses": done,
                "requestBody": takes("application/octet-stream", bytes.clone())}},
            "/text": {"post": {"tags": ["x"], "operationId": "text", "responses": done,
                "requestBody": takes("text/plain", json!({"type": "string"}))}},
            "/bin": {"get": {"tags": ["x"], "operationId": "bin", "responses": answer("application/octet-stream")}},
            "/big": {"get": {"tags": ["x"], "operationId": "big", "responses": answer("application/octet-stream")}}
        }
    });
    let document = file(daemon, "mini.json", document.to_string().as_bytes());
    let allow = upstream.origin().trim_start_matches("http://").to_owned();
    let add = ["sources", "add", document.to_str().unwrap(), "--name", "mini", "--allow-host", &allow];
    daemon.run(&add).ok();
    daemon.run(&["policies", "add", "*", "allow"]).ok();
    upstream
}

/// The parts of the last form that came: head and content of each.
fn parts(upstream: &Upstream, path: &str) -> Vec<(String, Vec<u8>)> {
    let entry = upstream.ledger.matching("POST", path).pop().unwrap();
    let kind = entry.header("content-type").unwrap();
    let mark = format!("--{}", kind.split_once("boundary=").unwrap().1).into_bytes();
    let mut rest = entry.body.as_ref();
    let mut parts = Vec::new();
    while let Some(at) = find(rest, &mark) {
        let part = &rest[..at];
        rest = &rest[at + mark.len()..];
        if let Some(end) = find(part, b"\r\n\r\n") {
            let head = String::from_utf8(part[..end].to_vec()).unwrap();
            parts.push((head, part[end + 4..part.len() - 2].to_vec()));
        }
    }
    parts
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_the_machine_is_sent_as_it_is() {
    let daemon = Daemon::start();
    let upstream = mini(&daemon).await;
    let bytes = odd_bytes();
    let up = named(&daemon, "up.png", &bytes);

    daemon.run(&["call", "mini.x.form", "--f", &up, "--note", "@not a file"]).ok();
    let sent = parts(&upstream, "/form");
    assert!(
        sent[0].0.contains("name=\"f\"; filename=\"up.png\"\r\nContent-Type: image/png"),
        "{:?}",
        sent[0].0
    );
    assert_eq!(sent[0].1, bytes);
    assert_eq!(sent[1].1, b"@not a file", "what is no file stays what it is");

    let inline = json!({"body": {"f": {"$file": up, "name": "other.bin"}}}).to_string();
    daemon.run(&["call", "mini.x.form", &inline]).ok();
    let sent = parts(&upstream, "/form");
    assert!(sent[0].0.contains("filename=\"other.bin\""), "{:?}", sent[0].0);
    assert_eq!(sent[0].1, bytes);

    daemon.run(&["call", "mini.x.raw", "--body", &up]).ok();
    assert_eq!(upstream.ledger.matching("POST", "/raw")[0].body, bytes);

    let mut piped = daemon.command(&["call", "mini.x.raw", "--body", "-"]);
    piped.stdin(Stdio::from(std::fs::File::open(&up[1..]).unwrap()));
    assert!(piped.output().unwrap().status.success());
    assert_eq!(upstream.ledger.matching("POST", "/raw")[1].body, bytes);

    daemon.run(&["call", "mini.x.text", "--body", "@channel hello"]).ok();
    assert_eq!(upstream.ledger.matching("POST", "/text")[0].body, "@channel hello");

    let reference = daemon.run(&["blobs", "put", &up[1..]]).ok();
    daemon.run(&["call", "mini.x.form", "--body.f", reference.trim()]).ok();
    assert_eq!(parts(&upstream, "/form")[0].1, bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_no_file_and_only_what_was_typed_is_read() {
    let daemon = Daemon::start();
    let upstream = mini(&daemon).await;
    let secret = file(&daemon, "secret.txt", b"canary-of-a-private-file");
    let secret = secret.to_str().unwrap();
    let named = format!("@{secret}");

    for plain in ["up.txt", secret] {
        let said = daemon.run(&["call", "mini.x.form", "--body.f", plain]).fails(2);
        assert!(said.contains("takes a file") && said.contains("--body.f @PATH"), "{said}");
    }
    let said = daemon.run(&["call", "mini.x.form", "--f", "@/no/such/file"]).fails(2);
    assert!(said.contains("/no/such/file can't be read"), "{said}");
    let said = daemon.run(&["call", "mini.x.form", "--f", "@/"]).fails(2);
    assert!(said.contains("is a directory"), "{said}");

    // Arguments from elsewhere may be somebody else's.
    let elsewhere = json!({"body": {"f": {"$file": named}}}).to_string();
    let given = file(&daemon, "arguments.json", elsewhere.as_bytes());
    let given = format!("@{}", given.display());
    let said = daemon.run(&["call", "mini.x.form", &given]).fails(2);
    assert!(said.contains("were not typed here") && said.contains("--file @PATH"), "{said}");
    let mut piped = daemon.command(&["call", "mini.x.form", "-"]);
    piped.stdin(Stdio::from(std::fs::File::open(&given[1..]).unwrap()));
    assert_eq!(piped.output().unwrap().status.code(), Some(2));

    // Neither the daemon nor a program reads files.
    for wrong in [named.as_str(), secret, "file:///etc/passwd", "blob:../../token", "blob:00"] {
        let program =
            format!("return await tools.mini.x.form({{ body: {{ f: {{ $file: {} }} }} }})", json!(wrong));
        let (code, view) = daemon.execute(&program);
        assert!(code == 1 && view.to_string().contains("there is no file"), "{wrong}: {view}");
    }
    let forged = format!("blob:{}", "a".repeat(64));
    let (code, view) =
        daemon.execute(&format!("return await tools.mini.x.raw({{ body: {{ $file: '{forged}' }} }})"));
    assert!(code == 1 && view.to_string().contains("there is no file"), "{view}");
    assert!(upstream.ledger.matching("POST", "/**").is_empty(), "nothing was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_an_answer_is_written_and_passed_on() {
    let daemon = Daemon::start();
    let upstream = mini(&daemon).await;
    let shop = graphql::start(Config::default()).await.unwrap();
    let allow = shop.origin().trim_start_matches("http://").to_owned();
    daemon.run(&["sources", "add", &shop.endpoint(), "--name", "shop", "--allow-host", &allow]).ok();

    let answer = daemon.run(&["call", "mini.x.bin"]);
    assert!(answer.stderr.contains("blobs get blob:"), "it says how to get it: {answer:?}");
    let found: Value = serde_json::from_str(&answer.ok()).unwrap();
    let reference = found["$file"].as_str().unwrap();
    let got = daemon.command(&["blobs", "get", reference]).output().unwrap();
    assert_eq!(got.stdout, odd_bytes());
    let target = daemon.home().join("out.bin");
    let to = target.to_str().unwrap();
    let answer = daemon.run(&["call", "mini.x.bin", "-o", to]);
    assert!(answer.stderr.contains("wrote"), "{answer:?}");
    assert_eq!(answer.ok(), "", "the file is the whole answer");
    assert_eq!(std::fs::read(&target).unwrap(), odd_bytes());
    let said = daemon.run(&["call", "mini.x.text", "--body", "x", "--output", "never"]);
    assert!(said.stdout.contains("done") && said.fails(1).contains("the answer has no file"));

    daemon.run(&["call", "mini.x.big", "--output", to]).ok();
    let written = std::fs::read(&target).unwrap();
    assert!(written.len() == 20 << 20 && written.iter().all(|byte| *byte == b' '));

    // What an answer says of a file is an argument as it is.
    let (code, view) = daemon.execute(
        "const f = await tools.mini.x.bin(); await tools.mini.x.form({ body: { f } }); await tools.mini.x.raw({ body: f }); return await tools.shop.mutation.keep({ files: [f] })",
    );
    assert_eq!(code, 0, "{view}");
    assert_eq!(view["result"][0]["bytes"], odd_bytes().len(), "{view}");
    assert_eq!(parts(&upstream, "/form")[0].1, odd_bytes());
    assert_eq!(upstream.ledger.matching("POST", "/raw")[0].body, odd_bytes());
    let (one, two) = (named(&daemon, "a.txt", b"the first"), named(&daemon, "b.txt", b"the second"));
    let kept =
        daemon.run(&["call", "shop.mutation.keep", "--files", &one, "--files", &two, "--files", reference]);
    let kept = kept.json();
    assert_eq!(kept[0], json!({"name": "a.txt", "mediaType": "text/plain", "bytes": 9, "text": "the first"}));
    assert_eq!((&kept[1]["text"], &kept[2]["bytes"]), (&json!("the second"), &json!(odd_bytes().len())));
    let kept = daemon.run(&["call", "shop.mutation.keep", "--files", &one]).json();
    assert_eq!(kept[0]["name"], "a.txt", "a list of one");
}

#[test]
fn files_are_kept_and_given_over_http() {
    let daemon = Daemon::start();
    let owner = Wire::owner(&daemon);
    let page = b"<script>alert(1)</script>\xff";
    let html = [("content-type", "text/html")];
    let put = owner.send_bytes("POST", &format!("{BLOBS}?name=..%2F..%2Fetc%2Fa%20b.html"), &html, page);
    assert_eq!(put.status, 201, "{put:?}");
    let held = put.json();
    assert_eq!(
        (&held["size"], &held["name"], &held["mediaType"]),
        (&json!(page.len()), &json!("a b.html"), &json!("text/html")),
        "{held}"
    );
    let reference = held["$file"].as_str().unwrap();
    let path = format!("{BLOBS}/{reference}");
    let got = owner.get(&path);
    assert_eq!((got.status, got.body.as_slice()), (200, &page[..]));
    let head = got.head.to_ascii_lowercase();
    for line in [
        "content-type: application/octet-stream\r\n",
        "content-disposition: attachment; filename=\"a b.html\"; filename*=utf-8''a%20b.html\r\n",
        "x-content-type-options: nosniff\r\n",
        "content-security-policy: default-src 'none'; sandbox\r\n",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    let head = owner.send("HEAD", &path, &[], None);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(head.head.to_ascii_lowercase().contains(&format!("content-length: {}\r\n", page.len())));
    assert_eq!(owner.get(&path.replace(':', "%3A")).body, page);

    let listed = owner.get(BLOBS).json();
    assert_eq!((&listed["items"][0]["$file"], &listed["items"][0]["name"]), (&held["$file"], &held["name"]));
    let second = owner.send_bytes("POST", BLOBS, &[], b"another").json();
    assert!(second.get("name").is_none() && second.get("mediaType").is_none(), "{second}");
    let first = owner.get(&format!("{BLOBS}?limit=1")).json();
    let next = first["next_cursor"].as_str().unwrap();
    let rest = owner.get(&format!("{BLOBS}?limit=1&cursor={next}")).json();
    assert_ne!(first["items"][0]["$file"], rest["items"][0]["$file"]);
    assert!(rest.get("next_cursor").is_none(), "{rest}");
    assert_eq!(owner.get(&format!("{BLOBS}?cursor=bm8")).refused(400), "invalid-request");

    // Where it is not, it is not.
    daemon.run(&["workspaces", "add", "other"]).ok();
    assert_eq!(owner.get(&path.replace("default", "other")).refused(404), "not-found");
    let digits = "a".repeat(64);
    for wrong in
        ["blob:", "..%2F..%2Ftoken", "blob:..%2F..%2Ftoken", &digits, &format!("blob:{digits}"), "%00"]
    {
        assert_eq!(owner.get(&format!("{BLOBS}/{wrong}")).refused(404), "not-found", "{wrong}");
    }
}

#[test]
fn what_is_no_file_or_too_large_is_refused() {
    let daemon = Daemon::start();
    let owner = Wire::owner(&daemon);
    let form = [("content-type", "multipart/form-data; boundary=x")];
    let refused = owner.send_bytes("POST", BLOBS, &form, b"--x--");
    assert_eq!(refused.refused(415), "unsupported-media-type");
    assert_eq!(
        owner.send_bytes("POST", BLOBS, &[("content-type", "odd")], b"x").refused(400),
        "invalid-request"
    );
    assert_eq!(
        owner.send_bytes("POST", &format!("{BLOBS}?nam=x"), &[], b"x").refused(400),
        "invalid-request"
    );
    let large = owner.announce("POST", BLOBS, (1 << 30) + 1);
    assert_eq!(large.refused(413), "too-large");
    assert_eq!(large.json()["error"]["details"]["limit_bytes"], 1 << 30);
    assert_eq!(owner.get(BLOBS).json()["items"], json!([]), "nothing of it is kept");

    let made = |capabilities: &[&str]| {
        let name = capabilities.join("-");
        let body = json!({"name": name, "capabilities": capabilities});
        let token = owner.post("/v1/tokens", &body).json();
        Wire::with(&daemon, Some(token["secret"].as_str().unwrap()))
    };
    let (calls, reads) = (made(&["call"]), made(&["read"]));
    let held = calls.send_bytes("POST", BLOBS, &[], b"mine");
    assert_eq!(held.status, 201, "{held:?}");
    let path = format!("{BLOBS}/{}", held.json()["$file"].as_str().unwrap());
    assert_eq!(calls.get(&path).body, b"mine");
    assert_eq!(reads.get(&path).body, b"mine");
    assert_eq!(reads.send_bytes("POST", BLOBS, &[], b"x").refused(403), "not-allowed");
    assert_eq!(calls.get(BLOBS).refused(403), "not-allowed", "a list shows what others put there");
}

#[test]
fn a_large_file_goes_there_and_back() {
    let daemon = Daemon::start();
    let bytes: Vec<u8> =
        (0..20_u32 << 18).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let source = file(&daemon, "large.bin", &bytes);
    let source = source.to_str().unwrap();
    let held = daemon.run(&["blobs", "put", source, "--media-type", "application/x-large", "--json"]).json();
    assert_eq!((&held["size"], &held["name"]), (&json!(20 << 20), &json!("large.bin")), "{held}");
    let reference = held["$file"].as_str().unwrap();
    let target = daemon.home().join("back.bin");
    daemon.run(&["blobs", "get", reference, "-o", target.to_str().unwrap()]).ok();
    assert!(std::fs::read(&target).unwrap() == bytes);
    // Without a length it goes in chunks.
    let mut piped = daemon.command(&["blobs", "put", "-"]);
    piped.stdin(Stdio::from(std::fs::File::open(source).unwrap()));
    let piped = piped.output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap().trim(), reference);
    let listed = daemon.run(&["blobs", "list"]).ok();
    assert!(listed.contains("large.bin") && listed.contains(reference), "{listed}");
    let said = daemon.run(&["blobs", "get", "blob:00"]).fails(1);
    assert!(said.contains("there is no file blob:00"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_reads_and_makes_files_and_does_so_once() {
    let daemon = Daemon::start();
    let upstream = mini(&daemon).await;
    daemon.run(&["policies", "add", "mini.x.form", "approve", "--position", "0"]).ok();
    let program = "const bytes = await blobs.bytes(await tools.mini.x.bin());
        const made = await blobs.put(bytes.map((byte) => 255 - byte), { name: '../turned.bin', mediaType: 'x/y' });
        const text = await blobs.text(await blobs.put('gr\u{fc}n'));
        await tools.mini.x.form({ body: { f: made } });
        let code; try { await blobs.text(made) } catch (error) { code = error.code }
        return { text, made, code, size: bytes.length }";
    let (code, view) = daemon.execute(program);
    assert_eq!(code, 3, "{view}");
    let done = daemon.run(&["resume", view["id"].as_str().unwrap(), "--accept", "--yes", "--json"]).json();
    let result = &done["result"];
    assert_eq!(
        (&result["text"], &result["code"], &result["size"], &result["made"]["name"]),
        (&json!("gr\u{fc}n"), &json!("invalid-text"), &json!(odd_bytes().len()), &json!("turned.bin")),
        "{done}"
    );
    let turned: Vec<u8> = odd_bytes().iter().map(|byte| 255 - byte).collect();
    let sent = parts(&upstream, "/form");
    assert!(sent[0].0.contains("filename=\"turned.bin\"\r\nContent-Type: x/y"), "{:?}", sent[0].0);
    assert_eq!(sent[0].1, turned);
    assert_eq!(
        upstream.ledger.matching("GET", "/bin").len(),
        1,
        "what ran before the question is not run again"
    );

    for (program, expect) in [
        ("return await blobs.bytes(await tools.mini.x.big())", "too-large"),
        ("return await blobs.put({ a: 1 })", "invalid-arguments"),
        ("return await blobs.put('x', { mediaType: 'no' })", "invalid-request"),
        ("return await blobs.text('/etc/passwd')", "not-found"),
        ("const t = 'x'.repeat(8 << 20); for (let i = 0; i < 9; i += 1) await blobs.put(t)", "too-large"),
    ] {
        let (code, view) = daemon.execute(program);
        assert_eq!((code, &view["error"]["details"]["code"]), (1, &json!(expect)), "{program}: {view}");
    }
}
