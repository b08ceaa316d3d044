//! What a test may ask to go wrong, and for how many operations.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde_json::json;

use crate::plain::Answer;

/// What goes wrong instead of an operation, which has no effect then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 400 with GraphQL errors.
    Refused,
    /// 200 with data and an error, of `book` alone.
    Partial,
    /// 200 with errors and no data.
    Errors,
    /// 200 with an error that says to wait.
    Throttled,
    /// 500 with a page of HTML.
    ServerPage,
    /// 200 with a login page.
    LoginPage,
    /// 200 with so many bytes of spaces.
    Huge(u64),
    /// 200 with JSON that breaks off.
    BrokenJson,
    /// The connection ends before anything is answered.
    Reset,
}

impl Fault {
    pub(super) fn answer(self) -> Answer {
        const PAGE: &str = "<!DOCTYPE html><html><body>";
        let page = |status, text: &str| {
            Answer::new(status, &[("content-type", "text/html")], format!("{PAGE}{text}</body></html>"))
        };
        let error = |message: &str, code: &str| json!({ "message": message, "extensions": { "code": code } });
        match self {
            Self::Refused => {
                Answer::json(400, &json!({ "errors": [error("not like this", "BAD_USER_INPUT")] }))
            }
            Self::Partial => Answer::json(
                200,
                &json!({
                    "data": { "book": { "id": "1", "title": "Emma", "rating": null } },
                    "errors": [{ "message": "no rating today", "path": ["book", "rating"] }],
                }),
            ),
            Self::Errors => {
                Answer::json(200, &json!({ "data": null, "errors": [error("gone", "NOT_FOUND")] }))
            }
            Self::Throttled => Answer::json(200, &json!({ "errors": [error("slower", "THROTTLED")] })),
            Self::ServerPage => page(500, "something broke"),
            Self::LoginPage => page(200, "<form>Sign in</form>"),
            Self::Huge(bytes) => Answer::filled(bytes),
            Self::BrokenJson => {
                Answer::new(200, &[("content-type", "application/json")], r#"{"data":{"book":{"#)
            }
            Self::Reset => Answer::reset(),
        }
    }
}

/// The faults that still wait for operations, oldest first.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<VecDeque<Fault>>);

impl Faults {
    pub(super) fn add(&self, fault: Fault, times: u32) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend((0..times).map(|_| fault));
    }

    pub(super) fn take(&self) -> Option<Fault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
