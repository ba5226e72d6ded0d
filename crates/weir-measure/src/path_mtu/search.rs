//! The search of RFC 8899: which packet size to probe next, and when a size counts as not getting through. Pure.
//!
//! Sizes are IP packets. The base size is confirmed first (section 5.2); then the largest size is tried, since
//! most paths carry what their first interface does; then the sizes in between by halving. A size is given up
//! after `MAX_PROBES` losses (section 5.1.2), at once when the local host refuses to send it (section 4.4).

/// Probes of one size without an answer before it counts as too large (RFC 8899, 5.1.2).
const MAX_PROBES: u32 = 3;
/// Size that every path is expected to carry (RFC 8899, 5.1.2; RFC 9000 uses the same).
pub const BASE: u32 = 1200;
/// Smallest size that IPv4 guarantees to be receivable; below it there is no path for media.
const SMALLEST: u32 = 576;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a probe of `size`, and report it lost when no answer has come by `deadline_ns`.
    Probe {
        /// Number of the probe.
        probe: u32,
        /// IP packet length.
        size: u32,
        /// Monotonic time.
        deadline_ns: u64,
    },
    /// The search is over.
    Done(Outcome),
}

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Largest size that came through.
    pub path_mtu: Option<u32>,
    /// Probes sent.
    pub probes: u32,
}

/// A search in progress.
#[derive(Clone, Debug)]
pub struct MtuSearch {
    /// Largest size known to come through.
    confirmed: Option<u32>,
    /// Smallest size known not to.
    refused: u32,
    /// Sizes whose answer is awaited.
    current: u32,
    losses: u32,
    probes: u32,
    timeout_ns: u64,
}

impl MtuSearch {
    /// A search up to `largest`, waiting `timeout_ns` for each answer.
    pub fn new(largest: u32, timeout_ns: u64) -> Self {
        MtuSearch {
            confirmed: None,
            refused: largest.max(SMALLEST) + 1,
            current: BASE.min(largest),
            losses: 0,
            probes: 0,
            timeout_ns,
        }
    }

    /// The next step at monotonic `now_ns`. Each probe is to be followed by one of the `on_` calls.
    pub fn next(&mut self, now_ns: u64) -> Step {
        match self.choose() {
            Some(size) => {
                self.current = size;
                self.probes += 1;
                Step::Probe {
                    probe: self.probes,
                    size,
                    deadline_ns: now_ns + self.timeout_ns,
                }
            }
            None => Step::Done(Outcome {
                path_mtu: self.confirmed,
                probes: self.probes,
            }),
        }
    }

    fn choose(&self) -> Option<u32> {
        if self.losses > 0 {
            return Some(self.current);
        }
        let Some(confirmed) = self.confirmed else {
            // The base size failed: only the smallest is left to try.
            return match self.refused {
                refused if refused > BASE => Some(BASE.min(refused - 1)),
                refused if refused > SMALLEST => Some(SMALLEST),
                _ => None,
            };
        };
        if confirmed + 1 >= self.refused {
            return None;
        }
        let never_tried_above = self.losses == 0 && confirmed == BASE.min(self.refused - 1);
        if never_tried_above && self.probes <= MAX_PROBES {
            return Some(self.refused - 1);
        }
        Some(confirmed + (self.refused - confirmed) / 2)
    }

    /// The probe of `size` was answered.
    pub fn on_acknowledged(&mut self, size: u32) {
        self.losses = 0;
        self.confirmed = Some(self.confirmed.map_or(size, |confirmed| confirmed.max(size)));
        if size >= self.refused {
            // Reordered or lost answers made it look refused; what came through counts.
            self.refused = size + 1;
        }
    }

    /// No answer came in time.
    pub fn on_lost(&mut self) {
        self.losses += 1;
        if self.losses >= MAX_PROBES {
            self.on_refused();
        }
    }

    /// The local host will not send a packet of this size.
    pub fn on_refused(&mut self) {
        self.losses = 0;
        self.refused = self.refused.min(self.current);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that carries `mtu`, loses every packet in `lossy`, behind an interface of `interface`.
    fn search(interface: u32, mtu: u32, mut lossy: impl FnMut(u32) -> bool) -> Outcome {
        let mut search = MtuSearch::new(interface, 10);
        let mut now = 0;
        for _ in 0..1000 {
            match search.next(now) {
                Step::Done(outcome) => return outcome,
                Step::Probe {
                    probe,
                    size,
                    deadline_ns,
                } => {
                    assert!(size <= interface, "a probe larger than the interface");
                    if size <= mtu && !lossy(probe) {
                        search.on_acknowledged(size);
                    } else {
                        now = deadline_ns;
                        search.on_lost();
                    }
                }
            }
        }
        panic!("the search does not end");
    }

    #[test]
    fn exact_for_every_path_mtu() {
        for mtu in 576..=9001 {
            let found = search(9001, mtu, |_| false).path_mtu;
            let expected = if mtu >= BASE { mtu } else { SMALLEST };
            // Below the base size only the smallest is tried, then sizes between the two.
            assert!(
                found == Some(mtu) || mtu < BASE && found >= Some(expected),
                "{mtu}: {found:?}"
            );
        }
    }

    #[test]
    fn a_path_as_wide_as_its_interface_takes_two_probes() {
        assert_eq!(
            search(9000, 9000, |_| false),
            Outcome {
                path_mtu: Some(9000),
                probes: 2
            }
        );
        assert_eq!(search(1500, 1500, |_| false).probes, 2);
    }

    #[test]
    fn single_losses_do_not_mislead() {
        assert_eq!(search(9001, 8896, |probe| probe % 3 == 0).path_mtu, Some(8896));
    }

    #[test]
    fn a_black_hole_has_no_mtu() {
        assert_eq!(search(9001, 0, |_| false).path_mtu, None);
        assert_eq!(search(9001, 575, |_| false).path_mtu, None);
    }

    #[test]
    fn a_narrow_interface_is_the_limit() {
        assert_eq!(search(900, 9000, |_| false).path_mtu, Some(900));
    }
}
