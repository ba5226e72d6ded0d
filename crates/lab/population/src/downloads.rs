//! A neighbour that downloads, pauses, and downloads again. It must not know TCP.

use crate::draw::{Draws, Spread};
use crate::wish::Wish;

/// A download that is complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Downloaded {
    pub bytes: u64,
    pub took_ns: u64,
    /// Time of it in which the viewer was fetching.
    pub beside_ns: u64,
}

/// The neighbour.
#[derive(Debug)]
pub(crate) struct Downloads {
    bytes: Spread,
    pause: Spread,
    draws: Draws,
    /// It begins no download from then on, nanoseconds.
    until_ns: u64,
    next_ns: u64,
    /// Bytes of the present one, when it began, and how long the viewer had fetched by then.
    present: Option<(u64, u64, u64)>,
    pub done: Vec<Downloaded>,
}

impl Downloads {
    /// A neighbour that begins at `from_ns`, and begins no download from `until_ns` on.
    pub fn new((bytes, pause): (&Spread, &Spread), draws: Draws, from_ns: u64, until_ns: u64) -> Self {
        Downloads {
            bytes: bytes.clone(),
            pause: pause.clone(),
            draws,
            until_ns,
            next_ns: from_ns,
            present: None,
            done: Vec::new(),
        }
    }

    /// What it wants; only called while nothing is on its way.
    pub fn poll(&mut self, now_ns: u64, fetching_ns: u64) -> Wish {
        if self.next_ns.max(now_ns) >= self.until_ns {
            return Wish::Wait(None);
        }
        if now_ns < self.next_ns {
            return Wish::Wait(Some(self.next_ns));
        }
        let bytes = self.bytes.draw(&mut self.draws) as u64;
        self.present = Some((bytes, now_ns, fetching_ns));
        Wish::Ask { bytes, pace: None }
    }

    /// The download is complete.
    pub fn complete(&mut self, now_ns: u64, fetching_ns: u64) {
        if let Some((bytes, since, fetched_ns)) = self.present.take() {
            self.done.push(Downloaded {
                bytes,
                took_ns: now_ns - since,
                beside_ns: fetching_ns - fetched_ns,
            });
            self.next_ns = now_ns + self.pause.draw(&mut self.draws) as u64;
        }
    }
}
