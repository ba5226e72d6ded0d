//! Drives a link in real time between two TUN devices: one thread for each direction, each with its own
//! [`Link`](crate::Link). It measures its own lateness. It must not know where the devices are, or their traffic.

mod buffers;
mod direction;
mod report;
mod rest;
mod shared;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};

use weir_net::clock;
use weir_net::realtime::Bell;
use weir_net::tun::Tun;

use crate::headers::RouterAddresses;
use crate::spec::LinkSpec;
use direction::DirectionDriver;
use shared::Shared;

pub use report::{DirectionSecond, OwnLoss, Way};

/// A running link. Dropping it stops it.
pub struct Driver {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    seconds: Receiver<DirectionSecond>,
}

impl Driver {
    /// Starts to carry packets between `near` and `far`. `spec` must have passed [`LinkSpec::check`]. Messages about
    /// packets that are too long are sent from `router`.
    ///
    /// # Errors
    /// When the system has no threads or descriptors left.
    pub fn start(spec: &LinkSpec, near: Tun, far: Tun, router: RouterAddresses) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            spec: spec.clone(),
            near,
            far,
            bell: Bell::new()?,
            stop: AtomicBool::new(false),
            router,
            began_ns: clock::monotonic_ns(),
        });
        let (sender, seconds) = mpsc::channel();
        let mut driver = Driver {
            shared,
            threads: Vec::new(),
            seconds,
        };
        for (way, name) in [(Way::Forward, "weir-forward"), (Way::Reverse, "weir-reverse")] {
            let (shared, sender) = (driver.shared.clone(), sender.clone());
            let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
                let (ingress, egress) = match way {
                    Way::Forward => (&shared.near, &shared.far),
                    Way::Reverse => (&shared.far, &shared.near),
                };
                DirectionDriver::new(way, &shared, ingress, egress, sender).run()
            })?;
            driver.threads.push(thread);
        }
        Ok(driver)
    }

    /// The directions' reports since the last call, the oldest first.
    pub fn seconds(&self) -> impl Iterator<Item = DirectionSecond> + '_ {
        self.seconds.try_iter()
    }

    /// Whether a direction has failed.
    pub fn has_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops it; packets on the link are lost. The last of [`Driver::seconds`] follow, and the devices stay until
    /// this is dropped.
    ///
    /// # Errors
    /// When a direction had failed before, because a TUN device could not be read.
    pub fn finish(&mut self) -> io::Result<()> {
        self.ring();
        for thread in self.threads.drain(..) {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(())
    }

    fn ring(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.bell.ring();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.ring();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
