//! `/v1/workspaces/{w}/blobs`: files for calls, and files of answers.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use executor_control::{
    BlobContent, BlobItem, BlobName, BlobView, Capability, PageQuery, Problem, UPLOAD_LIMIT_BYTES, Upload,
};
use futures::stream;
use http_body_util::BodyExt as _;

use super::decode::{Parameters, Segments, Who};
use super::encode::{self, Answer, created, ok};
use super::failure::Failure;
use super::route::Need;
use super::{App, Route};

/// How long a body may bring nothing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// What clients say where nobody told them what a body is.
const UNSAID: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/workspaces/{workspace}/blobs", "The files, the newest first", list)
            .needs(Need::Capability(Capability::Read))
            .query::<PageQuery>()
            .gives_page::<BlobItem>(),
        Route::post("/v1/workspaces/{workspace}/blobs", "Put a file there, as its bytes", put)
            .needs(Need::Capability(Capability::Call))
            .query::<BlobName>()
            .takes_bytes()
            .gives::<BlobView>(StatusCode::CREATED),
        Route::get("/v1/workspaces/{workspace}/blobs/{blob}", "A file, byte for byte", show)
            .needs(Need::Look)
            .gives_other("application/octet-stream"),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Parameters(query): Parameters<PageQuery>,
) -> Answer {
    ok(&app.control.workspace(&caller, &workspace)?.blobs_page(&query)?)
}

async fn put(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments(workspace): Segments<String>,
    Parameters(name): Parameters<BlobName>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let workspace = app.control.workspace(&caller, &workspace)?;
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > UPLOAD_LIMIT_BYTES) {
        return Err(Failure::file_too_large(UPLOAD_LIMIT_BYTES));
    }
    let mut upload = workspace.begin_upload(&name, media_type(&headers)?)?;
    receive(body, &mut upload, UPLOAD_LIMIT_BYTES).await?;
    created(&upload.finish().await?)
}

/// What the client says that the file is.
fn media_type(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(None) };
    let said =
        value.to_str().map_err(|_| Failure::invalid_request("the Content-Type is no text".to_owned()))?;
    match said.split(';').next().unwrap_or_default().trim() {
        MULTIPART => Err(Failure::wrapped_file()),
        UNSAID | "" => Ok(None),
        _ => Ok(Some(said)),
    }
}

/// What a file's bytes go into as they come.
trait Sink {
    fn append(&mut self, bytes: &[u8]) -> Result<(), Problem>;
}

impl Sink for Upload {
    fn append(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        Upload::append(self, bytes)
    }
}

/// Takes a body as it comes: no more of it is held than one piece.
async fn receive(mut body: Body, sink: &mut impl Sink, limit_bytes: u64) -> Result<(), Failure> {
    let mut received = 0_u64;
    loop {
        let frame = tokio::time::timeout(IDLE_TIMEOUT, body.frame()).await;
        let Some(frame) = frame.map_err(|_| Failure::too_slow(IDLE_TIMEOUT.as_secs()))? else {
            return Ok(());
        };
        let Ok(piece) = frame.map_err(|_| Failure::body_lost())?.into_data() else { continue };
        received = received.saturating_add(piece.len() as u64);
        if received > limit_bytes {
            return Err(Failure::file_too_large(limit_bytes));
        }
        sink.append(&piece)?;
    }
}

async fn show(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Segments((workspace, blob)): Segments<(String, String)>,
) -> Answer {
    let content = app.control.workspace(&caller, &workspace)?.blob(&blob)?;
    let (media_type, name, size) =
        (content.media_type().map(str::to_owned), content.name().map(str::to_owned), content.size());
    Ok(encode::file(media_type.as_deref(), name.as_deref(), size, pieces(content)))
}

/// The bytes, read as they are sent.
fn pieces(content: BlobContent) -> Body {
    let pieces = stream::try_unfold((Arc::new(content), 0_u64), |(content, offset)| async move {
        let reading = content.clone();
        let read = tokio::task::spawn_blocking(move || reading.read(offset)).await;
        let piece = read.map_err(std::io::Error::other)?.map_err(std::io::Error::other)?;
        let next = offset + piece.len() as u64;
        Ok::<_, std::io::Error>((!piece.is_empty()).then(|| (Bytes::from(piece), (content, next))))
    });
    Body::from_stream(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Kept(Vec<usize>);

    impl Sink for Kept {
        fn append(&mut self, bytes: &[u8]) -> Result<(), Problem> {
            self.0.push(bytes.len());
            Ok(())
        }
    }

    fn body(pieces: &'static [&'static str]) -> Body {
        let pieces = pieces.iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from_static(piece.as_bytes())));
        Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_file_is_kept_piece_by_piece_up_to_its_bound() {
        let mut kept = Kept(Vec::new());
        receive(body(&["abc", "de"]), &mut kept, 5).await.unwrap();
        assert_eq!(kept.0, [3, 2]);
        let refused = receive(body(&["abc", "def"]), &mut kept, 5).await.unwrap_err();
        let refused = String::from_utf8(refused.to_line()).unwrap();
        assert!(refused.contains("too-large") && refused.contains("\"limit_bytes\":5"), "{refused}");
        assert_eq!(kept.0, [3, 2, 3], "what is past the bound is not kept");
    }

    #[test]
    fn what_a_client_says_without_being_told_says_nothing() {
        let said = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, value.parse().unwrap());
            media_type(&headers).map(|found| found.map(str::to_owned)).map_err(|_| ())
        };
        assert_eq!(said("text/csv; charset=utf-8"), Ok(Some("text/csv; charset=utf-8".to_owned())));
        assert_eq!(said("application/x-www-form-urlencoded"), Ok(None));
        assert_eq!(said("multipart/form-data; boundary=x"), Err(()));
    }
}
