//! Where a machine of a benchmark lives: an address, and the threads that speak from there. All of them are in this process, so that CPU time is everybody's; in a
//! network namespace of its own a machine has a line of its own, too.

use anyhow::{Context, Result};
use std::fs::File;
use std::net::Ipv4Addr;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

pub(crate) struct Home {
    pub(crate) address: Ipv4Addr,
    runtime: Runtime,
    /// The namespace.
    space: Option<Arc<File>>,
}

impl Home {
    /// On the loop, with whoever else lives there.
    pub(crate) fn on_loop() -> Result<Self> {
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        Ok(Self { address: Ipv4Addr::LOCALHOST, runtime, space: None })
    }

    /// In a namespace, where it has this address.
    pub(crate) fn in_space(space: &Path, address: Ipv4Addr) -> Result<Self> {
        let space = Arc::new(File::open(space).with_context(|| format!("opening {}", space.display()))?);
        let threads_in = space.clone();
        // A thread that is not there after all has no way to the others, and the benchmark ends with that.
        let moved = move || _ = enter(&threads_in);
        let runtime = Builder::new_multi_thread().enable_all().on_thread_start(moved).build()?;
        Ok(Self { address, runtime, space: Some(space) })
    }

    /// Does something there: sockets that it opens are in its namespace.
    pub(crate) fn run<T: Send>(&self, work: impl Future<Output = T> + Send) -> Result<T> {
        let here = || -> Result<T> {
            self.space.as_deref().map_or(Ok(()), enter)?;
            Ok(self.runtime.block_on(work))
        };
        std::thread::scope(|scope| scope.spawn(here).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

/// Moves this thread into a network namespace.
fn enter(space: &File) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
        use std::os::fd::AsFd;
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network)).context("entering a namespace")
    }
    #[cfg(not(target_os = "linux"))]
    anyhow::bail!("{space:?}: there are network namespaces only on Linux")
}
