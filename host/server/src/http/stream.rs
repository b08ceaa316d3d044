//! Answers that tell of progress: a line of JSON each, the outcome last.

use std::convert::Infallible;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use executor_control::{Problem, ProgressSink, ProgressView};
use futures::{FutureExt, StreamExt, stream};
use serde::Serialize;
use tokio::sync::mpsc;

use super::encode;
use super::encode::Answer;
use super::failure::Failure;
use crate::connection::panicked;

const LINES: &str = "application/x-ndjson";
/// Lines that may wait for a slow reader; what is more is left out, since the
/// next line says more than it.
const WAITING_LINES: usize = 16;

/// What one line of the answer is, before its outcome.
#[derive(Serialize)]
struct Progress<'p> {
    progress: &'p ProgressView,
}

#[derive(Serialize)]
struct Outcome<'o, T> {
    result: &'o T,
}

/// Answers with the outcome of `work`: as lines where the client asked for
/// them, else as one object. When the client leaves, the work is dropped.
pub(super) async fn answer<T, F>(
    headers: &HeaderMap,
    status: StatusCode,
    work: impl FnOnce(ProgressSink) -> F,
) -> Answer
where
    T: Serialize + Send + 'static,
    F: Future<Output = Result<T, Problem>> + Send + 'static,
{
    if !wants_lines(headers) {
        let result = work(Arc::new(|_| {})).await?;
        return encode::json(status, &result);
    }
    let (sender, receiver) = mpsc::channel(WAITING_LINES);
    let sink: ProgressSink = Arc::new(move |view| {
        // A reader that is behind gets the later ones.
        let _ = sender.try_send(view);
    });
    let work = AssertUnwindSafe(work(sink)).catch_unwind().map(|outcome| match outcome {
        Ok(Ok(result)) => line(&Outcome { result: &result }),
        Ok(Err(problem)) => Failure::from(problem).to_line(),
        Err(panic) => panicked(panic.as_ref()).to_line(),
    });
    let mut response = Response::new(Body::from_stream(lines(receiver, Box::pin(work))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(LINES));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn wants_lines(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
    accepted
        .split(',')
        .any(|media_type| media_type.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case(LINES))
}

type Work = Pin<Box<dyn Future<Output = Vec<u8>> + Send>>;

/// Progress while the work runs, then its outcome. The work runs when the
/// answer is read, so that it ends with it.
fn lines(
    receiver: mpsc::Receiver<ProgressView>,
    work: Work,
) -> impl futures::Stream<Item = Result<Bytes, Infallible>> + Send {
    stream::unfold(Some((receiver, work)), |state| async move {
        let (mut receiver, mut work) = state?;
        tokio::select! {
            biased;
            Some(progress) = receiver.recv() => {
                Some((line(&Progress { progress: &progress }), Some((receiver, work))))
            }
            outcome = &mut work => Some((outcome, None)),
        }
    })
    .map(|line| Ok(Bytes::from(line)))
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line =
        serde_json::to_vec(value).unwrap_or_else(|error| Failure::broken(&error.to_string()).to_line());
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_control::ProblemKind;
    use http_body_util::BodyExt;

    fn asking(accept: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers
    }

    async fn text(answer: Answer) -> (StatusCode, String) {
        let response = answer.unwrap_or_else(axum::response::IntoResponse::into_response);
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    fn view(done: u64) -> ProgressView {
        ProgressView { done, total: Some(9), what: "tools".into() }
    }

    #[tokio::test]
    async fn progress_comes_in_lines_and_the_outcome_last() {
        let work = |sink: ProgressSink| async move {
            sink(view(1));
            tokio::task::yield_now().await;
            sink(view(2));
            tokio::task::yield_now().await;
            Ok(7)
        };
        let (status, lines) =
            text(answer(&asking("text/html, application/x-ndjson;q=1"), StatusCode::CREATED, work).await)
                .await;
        assert_eq!(status, StatusCode::CREATED);
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(lines[0], r#"{"progress":{"done":1,"total":9,"what":"tools"}}"#);
        assert_eq!(lines[2], r#"{"result":7}"#);
        let (_, whole) = text(answer(&HeaderMap::new(), StatusCode::CREATED, work).await).await;
        assert_eq!(whole, "7");
    }

    #[tokio::test]
    async fn a_failure_is_the_last_line_and_a_panic_one_too() {
        let failing = |_| async { Err::<u8, _>(Problem::new(ProblemKind::Conflict, "source-exists", "no")) };
        let (status, lines) = text(answer(&asking(LINES), StatusCode::CREATED, failing).await).await;
        assert_eq!(
            (status, lines.as_str()),
            (StatusCode::CREATED, "{\"error\":{\"code\":\"source-exists\",\"message\":\"no\"}}\n")
        );
        let (status, _) = text(answer(&HeaderMap::new(), StatusCode::CREATED, failing).await).await;
        assert_eq!(status, StatusCode::CONFLICT);
        let breaking = |_| async { panic!("oh") as Result<u8, Problem> };
        let (_, lines) = text(answer(&asking(LINES), StatusCode::OK, breaking).await).await;
        assert!(lines.contains("correlation"), "{lines}");
    }

    #[tokio::test]
    async fn a_flood_of_progress_does_not_pile_up() {
        let work = |sink: ProgressSink| async move {
            for done in 0..100_000 {
                sink(view(done));
            }
            Ok(1)
        };
        let (_, lines) = text(answer(&asking(LINES), StatusCode::OK, work).await).await;
        assert!(lines.lines().count() <= WAITING_LINES + 1);
        assert!(lines.ends_with("{\"result\":1}\n"));
    }
}
