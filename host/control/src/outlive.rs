//! Work that outlives whoever asked for it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Work that runs in the task of whoever awaits it, which saves the way to
/// another thread and back; and in a task of its own from when that one goes
/// away.
pub struct Outliving<F>(Option<Pin<Box<F>>>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static;

impl<F> Outliving<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    /// Nothing of it runs before it is awaited.
    pub fn new(work: F) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<F> Future for Outliving<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let work = self.0.as_mut().expect("it is not polled again after its end");
        let end = std::task::ready!(work.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(end)
    }
}

impl<F> Drop for Outliving<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn drop(&mut self) {
        // A runtime that has ended runs nothing more, wherever it began.
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn goes_on_without_whoever_asked() {
        let (go, gone) = oneshot::channel::<u32>();
        let (tell, told) = oneshot::channel();
        let mut work = Box::pin(Outliving::new(async move {
            let number = gone.await.expect("it is told to go on");
            tell.send(number).expect("somebody listens");
        }));
        assert!(futures::poll!(&mut work).is_pending());
        drop(work);
        go.send(7).expect("the work is still there");
        assert_eq!(told.await, Ok(7));
    }

    #[tokio::test]
    async fn what_has_ended_is_gone_at_once() {
        let (held, gone) = oneshot::channel::<()>();
        let mut work = Box::pin(Outliving::new(async move {
            let _held = held;
            5
        }));
        assert_eq!((&mut work).await, 5);
        assert!(gone.await.is_err(), "what the work held is dropped with it");
    }
}
