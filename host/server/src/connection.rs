//! One connection: requests in, answers out, until either side ends it.

use std::any::Any;
use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, HeaderValue, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use axum::http::{HeaderMap, Request, Response};
use axum::response::IntoResponse;
use executor_control::{Caller, Surface};
use executor_telemetry::{RemoteParent, with_remote_parent};
use futures::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tower_service::Service;

use crate::access::{Access, Asking};
use crate::http::{EVENTS, Failure, Tickets, Via, is_open, is_page};

/// How long a client may take to send a request's head, and how long a
/// connection may lie idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);
/// Bytes of a request's head; also the read buffer of a connection.
const HEAD_LIMIT_BYTES: usize = 64 * 1024;
/// A client's name as it says it, in characters.
const CLIENT_LIMIT: usize = 64;
/// By which a client says what it is.
const CLIENT_HEADER: &str = "x-executor-client";
/// By which a client names its span (W3C Trace Context).
const TRACE_PARENT: &str = "traceparent";

/// By which a proxy says for whom it asks.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Where MCP is served.
const MCP: &str = "/mcp";
const MCP_BELOW: &str = "/mcp/";

/// Which way a connection came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Anybody who is at this address, until they show who they are.
    Tcp(IpAddr),
    /// A process of the daemon's own user.
    Unix,
}

/// What all connections share.
pub(crate) struct Door {
    pub(crate) access: Access,
    pub(crate) router: Router,
    pub(crate) tickets: Arc<Tickets>,
    /// Whether a proxy in front says where requests come from.
    pub(crate) proxied: bool,
}

/// Serves a connection to its end. When `stop` turns true the request that
/// runs is answered and the connection is closed.
pub(crate) async fn serve(
    door: Arc<Door>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    transport: Transport,
    mut stop: watch::Receiver<bool>,
) {
    let service = service_fn(move |request| answer(door.clone(), transport, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_LIMIT_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Resolves once the daemon is to end, or nobody is left who could say so.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn answer(
    door: Arc<Door>,
    transport: Transport,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let answer = AssertUnwindSafe(enter(&door, transport, request)).catch_unwind().await;
    let mut response = match answer {
        Ok(Ok(response)) => response,
        Ok(Err(failure)) => {
            let response = failure.into_response();
            executor_telemetry::metrics().http.refused(response.status().as_u16());
            response
        }
        Err(panic) => panicked(panic.as_ref()).into_response(),
    };
    // No page shows any of it as its own, whatever it holds.
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    Ok(response)
}

/// Checks who asks, before anything looks at what is asked.
async fn enter<B>(
    door: &Door,
    transport: Transport,
    mut request: Request<B>,
) -> Result<Response<Body>, Failure>
where
    B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    if let Transport::Tcp(_) = transport {
        let page = is_page(request.method(), request.uri().path());
        door.access.check_site(request.uri(), request.headers(), page)?;
    }
    let via = via(door, transport, request.headers());
    request.extensions_mut().insert(via);
    if let Some(caller) = caller(door, transport, &request)? {
        request.extensions_mut().insert(caller);
    }
    let parent = request.headers().get(TRACE_PARENT).and_then(|header| header.to_str().ok());
    let parent = parent.and_then(RemoteParent::parse);
    let answering = door.router.clone().call(request.map(Body::new));
    let answered = match parent {
        Some(parent) => with_remote_parent(parent, answering).await,
        None => answering.await,
    };
    Ok(answered.unwrap_or_else(|never| match never {}))
}

/// Who asks; nobody, where a route is for anybody. Whoever shows a token is
/// its client, also a process of the owner's own: that is how one gives away
/// what it may do.
fn caller<B>(
    door: &Door,
    transport: Transport,
    request: &Request<B>,
) -> Result<Option<Arc<Caller>>, Failure> {
    let (path, headers) = (request.uri().path(), request.headers());
    let asking = asking(transport, path, headers);
    if headers.contains_key(AUTHORIZATION) {
        return door.access.caller(headers, &asking).map(|caller| Some(Arc::new(caller)));
    }
    if transport == Transport::Unix {
        return door.access.at_the_socket(&asking).map(|caller| Some(Arc::new(caller)));
    }
    let query = request.uri().query().unwrap_or_default();
    if path == EVENTS
        && let Some(ticket) = query.split('&').find_map(|pair| pair.strip_prefix("ticket="))
    {
        return door.tickets.redeem(ticket).map(Some).ok_or_else(Failure::unauthorized);
    }
    match door.access.signed_in(request.method(), headers, &asking)? {
        Some(caller) => Ok(Some(Arc::new(caller))),
        None if is_open(request.method(), path) => Ok(None),
        None => Err(Failure::unauthorized()),
    }
}

/// Through what and from where a request comes. Behind a proxy that is the
/// last address of `X-Forwarded-For`, the one that the proxy itself saw.
fn via(door: &Door, transport: Transport, headers: &HeaderMap) -> Via {
    let peer = match transport {
        Transport::Unix => "the socket".to_owned(),
        Transport::Tcp(address) => {
            let forwarded = headers.get_all(FORWARDED_FOR).iter().next_back();
            let forwarded = forwarded.filter(|_| door.proxied).and_then(|value| value.to_str().ok());
            let seen = forwarded.and_then(|value| value.rsplit(',').next()?.trim().parse().ok());
            peer(seen.unwrap_or(address))
        }
    };
    Via { client: client(headers).unwrap_or("browser").to_owned(), peer }
}

/// One peer of the IPv6 internet has a network of 64 bits to choose from.
fn peer(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            format!("{}/64", std::net::Ipv6Addr::from_bits(network))
        }
    }
}

fn asking<'a>(transport: Transport, path: &str, headers: &'a HeaderMap) -> Asking<'a> {
    let (surface, usual) = match transport {
        _ if path == MCP || path.starts_with(MCP_BELOW) => (Surface::Mcp, "mcp"),
        Transport::Tcp(_) => (Surface::Http, "http"),
        Transport::Unix => (Surface::Cli, "cli"),
    };
    Asking { client: client(headers).unwrap_or(usual), surface }
}

fn client(headers: &HeaderMap) -> Option<&str> {
    let name = headers.get(CLIENT_HEADER)?.to_str().ok()?.trim();
    (!name.is_empty() && name.len() <= CLIENT_LIMIT).then_some(name)
}

/// A handler broke: the details go to the log, and their number to both.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    let mut number = [0; 8];
    // Without randomness the number is zero, and the log still has the time.
    let _ = getrandom::fill(&mut number);
    let correlation = hex::encode(number);
    tracing::error!(%correlation, panic = message, "a request broke the daemon's code");
    Failure::broken(&correlation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Shown;
    use crate::http::{Need, test_routes};
    use axum::http::{HeaderValue, StatusCode};
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;

    const ADDRESS: &str = "127.0.0.1:4788";
    const TCP: Transport = Transport::Tcp(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    fn door(router: Router) -> Door {
        let known = |shown: Shown<'_>, asking: &Asking| match shown {
            Shown::Token("right") | Shown::Socket => Some(Caller::owner(asking.client, asking.surface)),
            _ => None,
        };
        let access = Access::new(ADDRESS.parse().unwrap(), &[], known).unwrap();
        Door { access, router, tickets: Arc::default(), proxied: false }
    }

    async fn ask(
        router: Router,
        method: &str,
        path: &str,
        token: Option<&str>,
        transport: Transport,
    ) -> StatusCode {
        let mut request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        request.headers_mut().insert("host", HeaderValue::from_static(ADDRESS));
        if let Some(token) = token {
            let value = format!("Bearer {token}");
            request.headers_mut().insert("authorization", value.parse().unwrap());
        }
        let door = door(router);
        let answer = enter(&door, transport, request).await;
        answer.unwrap_or_else(IntoResponse::into_response).status()
    }

    /// A router in which being reached is success.
    fn open() -> Router {
        Router::new().fallback(|| async { StatusCode::OK })
    }

    #[tokio::test]
    async fn every_route_answers_401_without_a_token() {
        let routes = test_routes();
        assert!(routes.len() > 30, "the table has {} routes", routes.len());
        let open_routes = [
            // Whether anybody is there.
            "GET /v1/health",
            // Whoever signs in is not known yet: the password says who it is.
            "POST /v1/sessions",
            "GET /login",
            // The secret in the path is what opens these four.
            "POST /v1/invitations/secret/accept",
            "GET /invite/secret",
            "GET /handoff/secret",
            "POST /handoff/secret",
        ];
        for (method, path, need) in routes {
            let open_to_all = need == Need::Nothing;
            let named = open_routes.contains(&format!("{method} {path}").as_str());
            assert_eq!(open_to_all, named, "{method} {path} is open to everybody");
            let expect = if open_to_all { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
            assert_eq!(ask(open(), &method, &path, None, TCP).await, expect, "{method} {path}");
            for token in ["wrong", ""] {
                for transport in [TCP, Transport::Unix] {
                    let status = ask(open(), &method, &path, Some(token), transport).await;
                    assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path} {token:?}");
                }
            }
            assert_eq!(ask(open(), &method, &path, Some("right"), TCP).await, StatusCode::OK);
            assert_eq!(ask(open(), &method, &path, None, Transport::Unix).await, StatusCode::OK);
        }
        for path in [
            "/",
            "/nothing",
            "/v1/health/",
            "//v1/health",
            "/v1/health%2f",
            "/V1/HEALTH",
            "/invite/",
            "/invite/a/b",
            "/v1/sessions",
            "/v1/invitations/secret/accept",
        ] {
            let status = ask(open(), "GET", path, None, TCP).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
        }
    }

    #[tokio::test]
    async fn a_handler_that_breaks_is_a_500_with_a_number() {
        let router = Router::new().route("/x", get(|| async { panic!("oh {}", 1) as StatusCode }));
        let (client, server) = tokio::io::duplex(64 * 1024);
        let (_stop, stopped) = watch::channel(false);
        let serving = tokio::spawn(serve(Arc::new(door(router)), server, Transport::Unix, stopped));
        let text = exchange(client, "GET /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        assert!(text.starts_with("HTTP/1.1 500"), "{text}");
        assert!(text.contains("\"correlation\":\"") && !text.contains("oh 1"), "{text}");
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn stopping_answers_what_runs_and_then_closes() {
        let (entered, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (telling, waiting) = (entered.clone(), go.clone());
        let slow = move || async move {
            telling.notify_one();
            waiting.notified().await;
            "done"
        };
        let (client, server) = tokio::io::duplex(64 * 1024);
        let (stop, stopped) = watch::channel(false);
        let door = door(Router::new().route("/slow", get(slow)));
        let serving = tokio::spawn(serve(Arc::new(door), server, Transport::Unix, stopped));
        let asking = tokio::spawn(exchange(client, "GET /slow HTTP/1.1\r\nhost: x\r\n\r\n"));
        entered.notified().await;
        stop.send(true).unwrap();
        go.notify_one();
        let text = asking.await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("done"), "{text}");
        serving.await.unwrap();
    }

    async fn exchange(mut client: tokio::io::DuplexStream, request: &str) -> String {
        client.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).await.unwrap();
        text
    }

    #[test]
    fn a_proxy_alone_says_where_a_request_comes_from() {
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-for", HeaderValue::from_static("203.0.113.9, 198.51.100.7"));
        let seen = |proxied| {
            let door = Door { proxied, ..door(open()) };
            via(&door, TCP, &headers).peer
        };
        assert_eq!((seen(true).as_str(), seen(false).as_str()), ("198.51.100.7", "127.0.0.1"));
        assert_eq!(peer("2001:db8:1:2:3:4:5:6".parse().unwrap()), "2001:db8:1:2::/64");
        assert_eq!(peer("::ffff:192.0.2.1".parse().unwrap()), "192.0.2.1");
    }

    #[test]
    fn a_client_says_who_it_is_within_bounds() {
        let named = |name: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CLIENT_HEADER, HeaderValue::from_bytes(name.as_bytes()).unwrap());
            client(&headers).map(str::to_owned)
        };
        assert_eq!(named("claude").as_deref(), Some("claude"));
        assert_eq!(named(""), None);
        assert_eq!(named(&"x".repeat(65)), None);
        assert_eq!(named("\u{e9}"), None);
        let unnamed = HeaderMap::new();
        let unix = asking(Transport::Unix, "/v1/tools", &unnamed);
        assert_eq!((unix.client, unix.surface), ("cli", Surface::Cli));
        for path in ["/mcp", "/mcp/default"] {
            assert_eq!(asking(Transport::Unix, path, &unnamed).surface, Surface::Mcp);
        }
        assert_eq!(asking(TCP, "/mcpx", &unnamed).surface, Surface::Http);
    }
}
