//! Keeps the catalogue of titles in step with the archive, in a thread of its own that nobody waits for.

use herodotus_catalogue::{Catalogue, Error};
use herodotus_store::Store;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Folder of the catalogue in an archive.
const FOLDER: &str = "catalogue";
/// Captures in one go, between looks at whether to stop.
const STEP_CAPTURES: usize = 256;
/// Between looks at whether the archive has grown.
const PAUSE: Duration = Duration::from_secs(1);
/// How far this thread stands back where the system knows how: it gets a tenth of a processor that others want, and all of one that nobody wants. Less than a tenth,
/// and whoever waits for a lock that it holds would wait for long.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;
/// While the archive is being filled from others, this thread rests so many times as long as it worked.
const REST_WHILE_FILLED: u32 = 29;
/// Shipments come in bursts: the archive is being filled until none has come for so long.
const FILLED_FOR: Duration = Duration::from_secs(2);
/// After something went wrong: the disk may have room again by then.
const PAUSE_AFTER_TROUBLE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Indexer {
    catalogue: Arc<Catalogue>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Indexer {
    pub fn start(data: &Path, store: &Store) -> Result<Self, Error> {
        let catalogue = Arc::new(Catalogue::open(&data.join(FOLDER))?);
        let stop = Arc::new(AtomicBool::new(false));
        let (ours, store, stopping) = (catalogue.clone(), store.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            stand_back();
            let mut filling = Filling::new(store.shipments_taken());
            while !stopping.load(Ordering::Relaxed) {
                let began = Instant::now();
                match ours.catch_up(&store, STEP_CAPTURES, &stopping) {
                    Ok(step) if step.behind => {
                        // This machine is being filled. Whoever brings something waits for locks and the disk in between, and would find the processor taken.
                        if filling.goes_on(Instant::now(), store.shipments_taken()) {
                            std::thread::park_timeout(began.elapsed() * REST_WHILE_FILLED);
                        }
                    }
                    Ok(_) => std::thread::park_timeout(PAUSE),
                    Err(error) => {
                        eprintln!("herodotus: {error}");
                        std::thread::park_timeout(PAUSE_AFTER_TROUBLE);
                    }
                }
            }
        });
        Ok(Self { catalogue, stop, thread })
    }

    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.clone()
    }

    /// Waits for the step that is going on.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}

/// Whether an archive is being filled from others, by how many shipments it has taken in so far.
#[derive(Debug)]
struct Filling {
    taken: u64,
    last_came: Option<Instant>,
}

impl Filling {
    fn new(taken: u64) -> Self {
        Self { taken, last_came: None }
    }

    fn goes_on(&mut self, now: Instant, taken: u64) -> bool {
        if self.taken != taken {
            (self.taken, self.last_came) = (taken, Some(now));
        }
        self.last_came.is_some_and(|at| now.duration_since(at) < FILLED_FOR)
    }
}

/// Lets crawls, readers and copies have the processor first: a title may be found a little later.
fn stand_back() {
    // On Linux a thread has a niceness of its own; elsewhere this would hold for the whole program.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_between_two_bursts_of_shipments_is_still_filling() {
        let (began, mut filling) = (Instant::now(), Filling::new(7));
        let after = |ms| began + Duration::from_millis(ms);
        assert!(!filling.goes_on(after(0), 7), "what came before this thread was there is nothing to wait for");
        assert!(filling.goes_on(after(10), 8));
        assert!(filling.goes_on(after(1_900), 8), "nothing came for a moment");
        assert!(filling.goes_on(after(3_800), 9));
        assert!(!filling.goes_on(after(5_900), 9), "it is over");
    }
}
