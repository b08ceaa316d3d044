//! The calls of one run, polled in the run's own task.
//!
//! A task for each call would cost two wakes, mostly of another thread. Calls
//! wait for far longer than they compute, so they go on beside the program
//! that made them, whenever it waits or yields. One that computes for long
//! gets a task of its own, so that it holds up neither the program nor the
//! other calls.

use std::any::Any;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::future::{AbortHandle, Abortable, BoxFuture};
use futures::stream::FuturesUnordered;
use tokio::task::JoinHandle;

/// A call that computes for so long at one go is moved to a task of its own.
const LONG: Duration = Duration::from_micros(250);

/// So long all calls together may compute before other tasks get their turn.
const TURN: Duration = Duration::from_millis(1);

/// The calls of one run that have not been delivered; `T` is how one ends.
/// Clones are the same ones.
pub(crate) struct Calls<T>(Arc<Shared<T>>);

struct Shared<T> {
    state: Mutex<State<T>>,
    turn: Arc<Turn>,
}

struct State<T> {
    running: FuturesUnordered<Abortable<Leg<T>>>,
    ended: VecDeque<Result<T, Broken>>,
    /// Whether the program waits for one of them.
    awaited: bool,
}

/// A call broke the host's code.
#[derive(Debug, thiserror::Error)]
#[error("a call broke the host's code: {0}")]
pub(crate) struct Broken(String);

impl<T> Clone for Calls<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Send + 'static> Calls<T> {
    pub(crate) fn new() -> Self {
        let state = State { running: FuturesUnordered::new(), ended: VecDeque::new(), awaited: false };
        Self(Arc::new(Shared { state: Mutex::new(state), turn: Arc::default() }))
    }

    /// Adds a call, which begins when the program next waits or yields, after
    /// those that were added before. It is dropped soon after it is aborted.
    pub(crate) fn add(&self, call: impl Future<Output = T> + Send + 'static) -> AbortHandle {
        let (handle, registration) = AbortHandle::new_pair();
        let leg = Leg { place: Place::Here(Box::pin(call)), turn: self.0.turn.clone() };
        self.lock().running.push(Abortable::new(leg, registration));
        handle
    }

    /// The next call that ends; none where nothing runs.
    ///
    /// Resolves only within [`Calls::beside`], which is what runs them.
    pub(crate) async fn next(&self) -> Option<Result<T, Broken>> {
        poll_fn(|_| {
            let mut state = self.lock();
            if let Some(ended) = state.ended.pop_front() {
                return Poll::Ready(Some(ended));
            }
            state.awaited = !state.running.is_empty();
            if state.awaited { Poll::Pending } else { Poll::Ready(None) }
        })
        .await
    }

    /// Runs the program, and its calls beside it.
    pub(crate) async fn beside<R>(&self, program: impl Future<Output = R>) -> R {
        let mut program = pin!(program);
        poll_fn(|context| {
            self.0.turn.begin();
            loop {
                if let Poll::Ready(end) = program.as_mut().poll(context) {
                    return Poll::Ready(end);
                }
                if !self.go_on(context) {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Drops all that are left.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        let left = (std::mem::take(&mut state.running), std::mem::take(&mut state.ended));
        drop(state);
        drop(left);
    }

    /// Goes on with the calls until one ends; whether the program, which
    /// waits for that, can go on too.
    fn go_on(&self, context: &mut Context<'_>) -> bool {
        let mut state = self.lock();
        while let Poll::Ready(Some(ended)) = state.running.poll_next_unpin(context) {
            // An aborted one leaves nothing.
            if let Ok(ended) = ended {
                state.ended.push_back(ended);
                if state.awaited {
                    break;
                }
            }
        }
        let goes_on = state.awaited && (!state.ended.is_empty() || state.running.is_empty());
        state.awaited &= !goes_on;
        goes_on
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long the calls have computed in this turn, in nanoseconds.
#[derive(Default)]
struct Turn(AtomicU64);

impl Turn {
    fn begin(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) > nanoseconds(TURN)
    }

    fn spend(&self, time: Duration) {
        self.0.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// One call, wherever it is polled.
struct Leg<T> {
    place: Place<T>,
    turn: Arc<Turn>,
}

enum Place<T> {
    Here(BoxFuture<'static, T>),
    Away(JoinHandle<T>),
    /// It has ended, or is on its way from one to the other.
    Nowhere,
}

impl<T: Send + 'static> Future for Leg<T> {
    type Output = Result<T, Broken>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let leg = self.get_mut();
        match &mut leg.place {
            Place::Here(call) => {
                if leg.turn.is_over() {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                let begun = Instant::now();
                let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context)));
                let took = begun.elapsed();
                leg.turn.spend(took);
                let ended = match polled {
                    Ok(Poll::Pending) if took < LONG => return Poll::Pending,
                    Ok(Poll::Pending) => return leg.move_away(context),
                    Ok(Poll::Ready(ended)) => Ok(ended),
                    Err(panic) => Err(Broken(said(panic.as_ref()))),
                };
                leg.place = Place::Nowhere;
                Poll::Ready(ended)
            }
            Place::Away(task) => {
                Pin::new(task).poll(context).map(|ended| ended.map_err(|error| Broken(error.to_string())))
            }
            Place::Nowhere => Poll::Pending,
        }
    }
}

impl<T: Send + 'static> Leg<T> {
    fn move_away(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Broken>> {
        if let Place::Here(call) = std::mem::replace(&mut self.place, Place::Nowhere) {
            self.place = Place::Away(tokio::spawn(call));
        }
        // The task's end wakes whoever has polled its handle.
        Pin::new(self).poll(context)
    }
}

impl<T> Drop for Leg<T> {
    fn drop(&mut self) {
        if let Place::Away(task) = &self.place {
            task.abort();
        }
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Awaits everything that was added, in the order in which it ends.
    async fn all(calls: &Calls<u32>) -> Vec<u32> {
        let mut ended = Vec::new();
        while let Some(next) = calls.next().await {
            ended.extend(next);
        }
        ended
    }

    fn spin(time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {}
    }

    #[tokio::test]
    async fn calls_end_in_their_own_order_and_begin_in_the_programs() {
        let calls = Calls::new();
        let begun = Arc::new(Mutex::new(Vec::new()));
        let ended = calls
            .beside(async {
                for (number, ms) in [(0, 30), (1, 0), (2, 10)] {
                    let begun = begun.clone();
                    calls.add(async move {
                        begun.lock().expect("no panic under the lock").push(number);
                        if ms > 0 {
                            tokio::time::sleep(Duration::from_millis(ms)).await;
                        }
                        number
                    });
                }
                all(&calls).await
            })
            .await;
        assert_eq!(ended, [1, 2, 0]);
        assert_eq!(*begun.lock().expect("no panic under the lock"), [0, 1, 2]);
    }

    #[tokio::test]
    async fn calls_go_on_while_the_program_yields() {
        let calls = Calls::new();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        calls
            .beside(async {
                calls.add(async move { sender.send(()).map_or(1, |()| 0) });
                tokio::task::yield_now().await;
                // Nobody awaits the call, and it is done.
                receiver.await.expect("the call has run");
                assert_eq!(all(&calls).await, [0]);
            })
            .await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_call_that_computes_for_long_holds_up_nobody() {
        let calls = Calls::new();
        let home = std::thread::current().id();
        let moved = Arc::new(AtomicUsize::new(0));
        let order = calls
            .beside(async {
                let seen = moved.clone();
                calls.add(async move {
                    for _ in 0..20 {
                        spin(Duration::from_millis(1));
                        seen.fetch_add(usize::from(std::thread::current().id() != home), Ordering::Relaxed);
                        tokio::task::yield_now().await;
                    }
                    0
                });
                calls.add(async { 1 });
                all(&calls).await
            })
            .await;
        assert_eq!(order, [1, 0]);
        assert_eq!(moved.load(Ordering::Relaxed), 19, "all but its first turn is another thread's");
    }

    #[tokio::test]
    async fn an_aborted_call_is_dropped_and_gives_nothing() {
        struct Told(Arc<AtomicUsize>);
        impl Drop for Told {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let calls = Calls::<u32>::new();
        let dropped = Arc::new(AtomicUsize::new(0));
        calls
            .beside(async {
                let told = [Told(dropped.clone()), Told(dropped.clone())];
                let [here, away] = told.map(|told| {
                    calls.add(async move {
                        let _told = told;
                        std::future::pending().await
                    })
                });
                tokio::task::yield_now().await;
                here.abort();
                assert!(tokio::time::timeout(Duration::from_millis(20), calls.next()).await.is_err());
                assert_eq!(dropped.load(Ordering::Relaxed), 1);
                away.abort();
                assert!(calls.next().await.is_none(), "nothing runs any more");
            })
            .await;
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_call_that_breaks_the_host_says_so() {
        let calls = Calls::<u32>::new();
        let broken = calls
            .beside(async {
                calls.add(async { panic!("oh {}", 1) });
                calls.next().await
            })
            .await;
        let error = broken.expect("it ran").expect_err("it broke");
        assert_eq!(error.to_string(), "a call broke the host's code: oh 1");
    }

    #[tokio::test]
    async fn what_was_moved_away_ends_with_the_run() {
        let calls = Calls::<u32>::new();
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let add = async {
            calls.add(async move {
                let _sender = sender;
                spin(LONG * 2);
                std::future::pending().await
            });
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        };
        calls.beside(add).await;
        calls.clear();
        assert!(receiver.await.is_err(), "the task was aborted, and what it held dropped");
    }
}
