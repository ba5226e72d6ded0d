//! CUBIC (RFC 9438): the window follows a cubic function of the time since the last reduction, and is never smaller than
//! that of NewReno.

use super::hystart::{SlowStart, Start};
use super::reno::Increase;
use super::{Acked, LEAST_WINDOW, Repair, Window};

/// Packets per cubic second (RFC 9438 section 4.1.1).
const C: f64 = 0.4;
/// What is left of the window after a reduction (section 4.6).
const BETA: f64 = 0.7;
/// Increase for which NewReno with this reduction has the throughput of NewReno (section 4.3).
const FRIENDLY: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// While no loss has shown a window to aim for: a packet more for at least each 20.
const MOST_COUNT_WITHOUT_AIM: f64 = 20.0;
/// The window grows by half at most in a round trip (section 4.4).
const LEAST_COUNT: f64 = 2.0;
/// While the window stays, the function is looked at this often (Linux).
const LOOKS_EACH_NS: u64 = 31_250_000;

#[derive(Debug)]
pub(crate) struct Cubic {
    start: Start,
    increase: Increase,
    /// Window before the last reduction, packets.
    most: f64,
    epoch: Option<Epoch>,
}

/// The time since a reduction.
#[derive(Debug)]
struct Epoch {
    began_ns: u64,
    /// Window at which the function is flat, and seconds until then.
    origin: f64,
    seconds: f64,
    /// Window of NewReno.
    friendly: f64,
    /// Window and time when the function was looked at, and what it said.
    looked: (f64, u64),
    count: f64,
}

impl Epoch {
    /// Packets for which the window grows by one, of whole packets as in Linux.
    fn look(&self, window: f64, acked: &Acked, has_no_aim: bool) -> f64 {
        let ahead_ns = acked.now_ns - self.began_ns + acked.least_rtt_ns;
        let off = ahead_ns as f64 / 1e9 - self.seconds;
        let target = self.origin + (C * off.powi(3)).trunc();
        let mut count = match target > window {
            true => window / (target - window),
            false => 100.0 * window,
        };
        if has_no_aim {
            count = count.min(MOST_COUNT_WITHOUT_AIM);
        }
        let friendly = self.friendly.trunc();
        if friendly > window {
            count = count.min(window / (friendly - window));
        }
        count.max(LEAST_COUNT)
    }
}

impl Cubic {
    pub fn new(slow_start: SlowStart) -> Self {
        Self {
            start: Start::new(slow_start),
            increase: Increase::default(),
            most: 0.0,
            epoch: None,
        }
    }

    pub fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        if acked.repair == Repair::Reducing || !acked.is_limited {
            return;
        }
        let packets = match window.in_slow_start() {
            true => self.start.open(window, acked),
            false => acked.packets,
        };
        if window.in_slow_start() || packets == 0 {
            return;
        }
        let count = self.count(window.packets as f64, packets as f64, acked);
        self.increase.by_each(window, count as u64, packets);
    }

    /// Packets for which the window grows by one.
    fn count(&mut self, window: f64, packets: f64, acked: &Acked) -> f64 {
        let most = self.most;
        let epoch = self.epoch.get_or_insert_with(|| {
            let below = (most - window).max(0.0);
            Epoch {
                began_ns: acked.now_ns,
                origin: most.max(window),
                seconds: (below / C).cbrt(),
                friendly: window,
                looked: (0.0, 0),
                count: 0.0,
            }
        });
        epoch.friendly += FRIENDLY * packets / window;
        let (looked_at, looked_ns) = epoch.looked;
        if looked_at != window || acked.now_ns - looked_ns > LOOKS_EACH_NS {
            epoch.looked = (window, acked.now_ns);
            epoch.count = epoch.look(window, acked, most == 0.0);
        }
        epoch.count
    }

    pub fn threshold(&mut self, window: &Window) -> u64 {
        let packets = window.packets as f64;
        // Fast convergence (section 4.7): another flow needs room.
        self.most = match packets < self.most {
            true => packets * (1.0 + BETA) / 2.0,
            false => packets,
        };
        self.epoch = None;
        ((packets * BETA) as u64).max(LEAST_WINDOW)
    }

    pub fn timed_out(&mut self) {
        self.most = 0.0;
        self.epoch = None;
    }

    /// Time without data is no time since the reduction (section 4.2). That may have begun within it: with an
    /// acknowledgement after the last packet.
    pub fn resumed(&mut self, now_ns: u64, idle_ns: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began_ns = now_ns.min(epoch.began_ns + idle_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The last packet is sent at 100 ms, the function begins with its acknowledgement at 140 ms, and sending goes on at 1 s.
    #[test]
    fn the_function_begins_anew_after_a_pause_in_which_it_began() {
        let mut cubic = Cubic::new(SlowStart::Standard);
        let mut window = Window {
            packets: 100,
            threshold: 50,
        };
        assert_eq!(cubic.threshold(&window), 70);
        let acked = |now_ns| Acked {
            now_ns,
            packets: 2,
            marked: 0,
            lost: 0,
            rtt_ns: Some(40 * MS),
            least_rtt_ns: 40 * MS,
            in_flight: (2, 0),
            delivered: 10,
            lost_so_far: 0,
            rate: None,
            until: 0,
            sent_until: 0,
            repair: Repair::None,
            is_limited: true,
            is_paced: false,
        };
        window.packets = 70;
        cubic.acknowledged(&mut window, &acked(140 * MS));
        cubic.resumed(1_000 * MS, 900 * MS);
        cubic.acknowledged(&mut window, &acked(1_040 * MS));
        // The window of 100 is reached after the cube root of 30 / 0.4, 4.2 s: not yet.
        assert!((70..75).contains(&window.packets), "{window:?}");
    }
}
