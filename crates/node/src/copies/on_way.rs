//! Captures that are being fetched. A machine that joins compares its arcs with all who hold them at once, and each of them would send everything: what one is
//! sending is not asked of another, but waited for.

use super::wire::Name;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// After that, whoever waits for what another machine is sending looks whether anything came.
const WAIT_MAX: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct OnWay {
    /// As many as the orders at once have in their pages.
    names: Mutex<HashSet<Name>>,
    freed: Notify,
}

/// Names that one machine is asked for. They are free again when this is dropped.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    on_way: &'a OnWay,
    pub(super) names: Vec<Name>,
}

impl OnWay {
    fn names(&self) -> MutexGuard<'_, HashSet<Name>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims those that nobody else has, and gives the others.
    pub(super) fn claim(&self, names: Vec<Name>) -> (Claim<'_>, Vec<Name>) {
        let mut on_way = self.names();
        let (ours, others) = names.into_iter().partition(|name| on_way.insert(name.clone()));
        (Claim { on_way: self, names: ours }, others)
    }

    /// Waits until none of these is on its way any more, here or not. No: some still are, after a while.
    pub(super) async fn settled(&self, names: &[Name]) -> bool {
        let settling = async {
            loop {
                let freed = self.freed.notified();
                if !self.has_any(names) {
                    return;
                }
                freed.await;
            }
        };
        tokio::time::timeout(WAIT_MAX, settling).await.is_ok()
    }

    fn has_any(&self, names: &[Name]) -> bool {
        let on_way = self.names();
        names.iter().any(|name| on_way.contains(name))
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut on_way = self.on_way.names();
        self.names.iter().for_each(|name| _ = on_way.remove(name));
        drop(on_way);
        self.on_way.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::Pin;

    fn names(range: std::ops::Range<u8>) -> Vec<Name> {
        range.map(|n| Name(vec![n])).collect()
    }

    async fn is_over(mut waiting: Pin<&mut impl Future<Output = bool>>) -> bool {
        tokio::select! {
            biased;
            is_settled = &mut waiting => is_settled,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_one_fetches_the_other_waits_for() {
        let on_way = OnWay::default();
        let (first, others) = on_way.claim(names(0..4));
        assert_eq!((&first.names, &others), (&names(0..4), &vec![]));
        let (second, others) = on_way.claim(names(2..6));
        assert_eq!((&second.names, &others), (&names(4..6), &names(2..4)));
        let mut settled = std::pin::pin!(on_way.settled(&others));
        assert!(!is_over(settled.as_mut()).await);
        drop(second);
        assert!(!is_over(settled.as_mut()).await, "the first has them still");
        drop(first);
        assert!(is_over(settled).await);
        assert!(on_way.names().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever_for_one_who_stands_still() {
        let on_way = OnWay::default();
        let (_stuck, _) = on_way.claim(names(0..4));
        let began = tokio::time::Instant::now();
        assert!(!on_way.settled(&names(0..4)).await);
        assert_eq!(began.elapsed(), WAIT_MAX);
    }
}
