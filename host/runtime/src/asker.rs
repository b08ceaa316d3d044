//! Questions in the middle of a call: the guest waits for the answer, and its
//! clock stands still meanwhile.

use tokio::sync::{mpsc, oneshot};

use crate::adapter::AdapterFailure;
use crate::pause::{Answer, Question};
use crate::stopwatch::Stopwatch;

/// What a call asks through. Clones ask for the same call.
#[derive(Debug, Clone)]
pub struct Asker {
    questions: mpsc::Sender<Asked>,
    clock: Stopwatch,
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
        (Self { questions, clock }, asked)
    }

    /// The clock of the call.
    pub(crate) fn clock(&self) -> &Stopwatch {
        &self.clock
    }

    pub(crate) async fn ask(&self, question: Question) -> Result<Answer, AdapterFailure> {
        let _still = self.clock.stand_still();
        let (reply, answer) = oneshot::channel();
        if self.questions.send(Asked { question, reply }).await.is_err() {
            return Ok(Answer::Cancelled);
        }
        answer.await.unwrap_or(Ok(Answer::Cancelled))
    }
}
