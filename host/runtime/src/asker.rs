//! Questions in the middle of a call: the guest waits for the answer, and its
//! clock stands still meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, oneshot};

use crate::adapter::AdapterFailure;
use crate::pause::{Answer, QUESTION_LIMIT, Question};
use crate::stopwatch::Stopwatch;

/// What a call asks through. Clones ask for the same call.
#[derive(Debug, Clone)]
pub struct Asker {
    questions: mpsc::Sender<Asked>,
    clock: Stopwatch,
    asked: Arc<AtomicUsize>,
}

/// A question of a call that waits for its answer.
#[derive(Debug)]
pub struct Asked {
    /// What is asked.
    pub question: Question,
    /// Who waits; whoever drops it answers [`Answer::Cancelled`].
    pub reply: oneshot::Sender<Result<Answer, AdapterFailure>>,
}

impl Asker {
    /// One for a call and its clock, and where its questions come out, one at
    /// a time.
    pub fn new(clock: Stopwatch) -> (Self, mpsc::Receiver<Asked>) {
        let (questions, asked) = mpsc::channel(1);
        (Self { questions, clock, asked: Arc::default() }, asked)
    }

    /// The clock of the call.
    pub(crate) fn clock(&self) -> &Stopwatch {
        &self.clock
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// `question-refused` where the call has asked too often, and what whoever
    /// is asked refuses it with.
    pub(crate) async fn ask(&self, question: Question) -> Result<Answer, AdapterFailure> {
        if self.asked.fetch_add(1, Ordering::Relaxed) >= QUESTION_LIMIT {
            let message = format!("a call asks {QUESTION_LIMIT} questions at most");
            return Err(AdapterFailure::new("question-refused", message));
        }
        let _still = self.clock.stand_still();
        let (reply, answer) = oneshot::channel();
        if self.questions.send(Asked { question, reply }).await.is_err() {
            return Ok(Answer::Cancelled);
        }
        answer.await.unwrap_or(Ok(Answer::Cancelled))
    }
}
