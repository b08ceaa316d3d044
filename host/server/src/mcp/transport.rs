//! Streamable HTTP for any MCP server: revision 2026-07-28 without sessions,
//! the older ones with them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use futures::StreamExt;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::watch;

use crate::connection::stopped;
use crate::http::{Failure, read_body};

/// Bytes of one message. Clients send whole files in a program's input.
pub(crate) const MESSAGE_LIMIT_BYTES: usize = 20 * 1024 * 1024;
/// How long nothing may pass in a session before it is forgotten. People are
/// asked within sessions, and may take their time.
const SESSION_IDLE: Duration = Duration::from_secs(24 * 60 * 60);
/// Sessions at once: clients that never end theirs must not fill the memory.
const SESSION_LIMIT: usize = 1024;
/// The first revision that has no sessions.
const WITHOUT_SESSIONS: &str = "2026-07-28";

/// The transport of the server `H`, of which there is one a session, and one
/// a request where there are no sessions.
pub(crate) struct McpTransport<H: ServerHandler> {
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    stop: watch::Receiver<bool>,
}

impl<H: ServerHandler> McpTransport<H> {
    /// Serves what `make` makes. Streams end when `stop` turns true.
    pub(crate) fn new(make: impl Fn() -> H + Send + Sync + 'static, stop: watch::Receiver<bool>) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_IDLE);
        let sessions = Arc::new(sessions);
        // Host and Origin have been checked at the door, by the names that the
        // person allowed.
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_max_request_body_bytes(MESSAGE_LIMIT_BYTES)
            .disable_allowed_hosts();
        let service = StreamableHttpService::new(move || Ok(make()), sessions.clone(), config);
        Self { service, sessions, stop }
    }

    /// Answers one HTTP request.
    pub(crate) async fn answer(&self, request: Request) -> Result<Response, Failure> {
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET => Ok(self.stream(request).await),
            _ => Ok(self.service.handle(request).await.map(Body::new)),
        }
    }

    /// The body is read here, where it has a deadline.
    async fn post(&self, request: Request) -> Result<Response, Failure> {
        if begins_session(request.headers()) && self.sessions.sessions.read().await.len() >= SESSION_LIMIT {
            return Err(Failure::too_many_sessions(SESSION_LIMIT));
        }
        let (parts, body) = request.into_parts();
        let bytes = read_body(&parts.headers, body, MESSAGE_LIMIT_BYTES).await?;
        let request = Request::from_parts(parts, Body::from(bytes));
        Ok(self.service.handle(request).await.map(Body::new))
    }

    /// A stream that a client keeps open is no request that a stopping daemon
    /// waits for.
    async fn stream(&self, request: Request) -> Response {
        let mut stop = self.stop.clone();
        let ended = async move { stopped(&mut stop).await };
        let response = self.service.handle(request).await;
        response.map(|body| Body::from_stream(Body::new(body).into_data_stream().take_until(Box::pin(ended))))
    }
}

/// Whether a request may make a new session.
fn begins_session(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    text("mcp-session-id").is_none()
        && text("mcp-protocol-version").is_none_or(|version| version < WITHOUT_SESSIONS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_a_handshake_counts_as_a_session() {
        let of = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            begins_session(&headers)
        };
        assert!(of(&[]));
        assert!(of(&[("mcp-protocol-version", "2025-11-25")]));
        assert!(!of(&[("mcp-protocol-version", "2026-07-28")]));
        assert!(!of(&[("mcp-session-id", "x")]));
    }
}
