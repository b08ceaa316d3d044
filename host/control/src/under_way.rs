//! Calls under way, by the connection that they go through: what an upstream
//! asks on the stream of its watch, it asks for one of them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use executor_runtime::{Asked, Asker};
use executor_store::SourceName;
use tokio::sync::mpsc;

/// A source and the name of its connection; an empty one where there is none.
pub(crate) type Way = (SourceName, String);

/// The calls that can be asked for, the oldest of each way first.
#[derive(Default)]
pub(crate) struct UnderWay(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    askers: HashMap<Way, Vec<(u64, Asker)>>,
    begun: u64,
}

/// A call under way; dropping it says that it has ended.
pub(crate) struct Passing<'a> {
    under_way: &'a UnderWay,
    way: Way,
    id: u64,
}

impl UnderWay {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins, whose person is asked through `asker`.
    pub(crate) fn begin(&self, way: Way, asker: Asker) -> Passing<'_> {
        let mut calls = self.lock();
        calls.begun += 1;
        let id = calls.begun;
        calls.askers.entry(way.clone()).or_default().push((id, asker));
        Passing { under_way: self, way, id }
    }

    fn newest(&self, way: &Way) -> Option<Asker> {
        self.lock().askers.get(way)?.last().map(|(_, asker)| asker.clone())
    }

    /// Asks on what a watch asks, for the newest call. Where none is under way
    /// nobody is asked, which the watch hears as a cancel.
    pub(crate) async fn ask_on(&self, way: &Way, mut questions: mpsc::Receiver<Asked>) {
        while let Some(Asked { question, reply }) = questions.recv().await {
            let Some(asker) = self.newest(way) else { continue };
            // The watch may be gone.
            let _ = reply.send(asker.ask(question).await);
        }
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        let mut calls = self.under_way.lock();
        let Some(askers) = calls.askers.get_mut(&self.way) else { return };
        askers.retain(|(id, _)| *id != self.id);
        if askers.is_empty() {
            calls.askers.remove(&self.way);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_runtime::{Answer, Question, Stopwatch};

    fn question() -> Question {
        Question { kind: "form".into(), message: "Which?".into(), schema: None, url: None }
    }

    #[tokio::test]
    async fn a_watch_asks_for_the_newest_call_and_for_nobody_without_one() {
        let under_way = UnderWay::default();
        let way: Way = (SourceName::parse("seats").expect("a name"), String::new());
        let other: Way = (way.0.clone(), "mine".into());
        let (watch, questions) = Asker::relay();
        let (old, mut of_old) = Asker::new(Stopwatch::default());
        let (new, mut of_new) = Asker::new(Stopwatch::default());
        let (elsewhere, _of_elsewhere) = Asker::new(Stopwatch::default());
        let story = async {
            let _elsewhere = under_way.begin(other, elsewhere);
            assert_eq!(watch.ask(question()).await, Ok(Answer::Cancelled), "nobody is there");
            let passing = under_way.begin(way.clone(), old);
            let newer = under_way.begin(way.clone(), new);
            let people = async {
                let asked = of_new.recv().await.expect("the newest is asked");
                asked.reply.send(Ok(Answer::Declined)).expect("it waits");
            };
            assert_eq!(tokio::join!(watch.ask(question()), people).0, Ok(Answer::Declined));
            drop(newer);
            let people = async { drop(of_old.recv().await.expect("the other is asked")) };
            assert_eq!(tokio::join!(watch.ask(question()), people).0, Ok(Answer::Cancelled));
            drop(passing);
            assert_eq!(watch.ask(question()).await, Ok(Answer::Cancelled), "they have ended");
        };
        tokio::select! {
            () = under_way.ask_on(&way, questions) => panic!("it listens on"),
            () = story => {}
        }
    }
}
