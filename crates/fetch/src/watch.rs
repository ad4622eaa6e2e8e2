//! Waiting with a deadline that mostly moves ahead: one timer for a whole exchange, set anew only when it rings early.
//! Setting a timer for each read would cost more than many a read.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::Poll;
use tokio::time::{Instant, Sleep, sleep_until};

#[derive(Debug)]
pub(crate) struct Watch {
    bell: Pin<Box<Sleep>>,
}

impl Watch {
    pub(crate) fn new(until: Instant) -> Self {
        Self { bell: Box::pin(sleep_until(until)) }
    }

    /// What the future gives, or `None` if the time is up before.
    pub(crate) async fn until<F: Future>(&mut self, until: Instant, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        std::future::poll_fn(|cx| {
            if let Poll::Ready(value) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(value));
            }
            if self.bell.deadline() > until {
                self.bell.as_mut().reset(until);
            }
            while self.bell.as_mut().poll(cx).is_ready() {
                if Instant::now() >= until {
                    return Poll::Ready(None);
                }
                self.bell.as_mut().reset(until);
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::sleep;

    #[tokio::test(start_paused = true)]
    async fn a_deadline_holds_whether_it_moves_ahead_or_back() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut watch = Watch::new(at(100));
        assert_eq!(watch.until(at(50), sleep(Duration::from_millis(40))).await, Some(()));
        assert_eq!(watch.until(at(200), sleep(Duration::from_millis(150))).await, Some(()));
        assert_eq!(watch.until(at(300), std::future::pending::<()>()).await, None);
        assert_eq!(Instant::now(), at(300));
        assert_eq!(watch.until(at(310), std::future::pending::<()>()).await, None);
        assert_eq!(watch.until(at(310), async { 7 }).await, Some(7));
    }
}
