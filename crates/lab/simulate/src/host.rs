//! How hosts distort a measurement: late wake-ups, stalls, clocks that disagree, buffers that overflow. It must not
//! know what is measured.

use crate::random::Random;

const SECOND_NS: f64 = 1e9;
/// A host that was idle for this long is cold.
const REST_NS: u64 = 1_000_000;
/// Longest stall of a heavy tail, as a multiple of the mean.
const LONGEST_STALL: f64 = 100.0;

/// What drops received packets before any socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveDropper {
    /// The kernel's queue between the card and the protocols.
    Kernel,
    /// A receive ring of the card that is full.
    Ring,
    /// The hypervisor, above the inbound bandwidth that the instance is allowed.
    Allowance,
}

/// A host. The default is a virtual machine of two cores with little other load; its times were measured between two
/// network namespaces of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostModel {
    /// Median time from an event to the application that waits for it, nanoseconds.
    pub wake_median_ns: f64,
    /// Spread of the same: standard deviation of its logarithm.
    pub wake_sigma: f64,
    /// Stalls of each thread per second.
    pub stalls_per_second: f64,
    /// Mean duration of a stall, nanoseconds: exponential, or as `stall_tail` says.
    pub stall_mean_ns: f64,
    /// Shape of a Pareto distribution of the stalls, above 1; the smaller, the heavier its tail. A stall is at most
    /// 100 times the mean.
    pub stall_tail: Option<f64>,
    /// Send system call, nanoseconds, without the cost per packet.
    pub send_call_ns: u64,
    /// CPU time of a packet that is sent or received, nanoseconds.
    pub packet_ns: u64,
    /// CPU time of a thousand bytes sent or received, nanoseconds.
    pub kilobyte_ns: u64,
    /// Spread of the time that a system call takes: standard deviation of its logarithm.
    pub call_sigma: f64,
    /// Share of RTT windows during which the thread that receives replies gets no core.
    pub crowded: f64,
    /// Receive buffer of a socket, bytes as the kernel counts.
    pub receive_buffer: u64,
    /// Maximum packets of one flow that the kernel merges on receive (GRO); 1 is none.
    pub merge_packets: u32,
    /// Packets merge if they arrive within this of the first, nanoseconds.
    pub merge_within_ns: u64,
    /// From a packet's arrival to the interrupt of the card, nanoseconds; packets that arrive until then wait for the same
    /// one (`rx-usecs` of ethtool). 0: each packet has its own.
    pub coalesce_ns: u64,
    /// Mean delay from the interrupt to the kernel timestamp, nanoseconds, exponential.
    pub timestamp_noise_ns: f64,
    /// Mean additional delay after an idle time of 1 ms or more, nanoseconds: caches are cold.
    pub cold_ns: f64,
    /// This host's clock minus true time at the start, nanoseconds.
    pub clock_offset_ns: i64,
    /// Drift of the clock against true time, parts per million.
    pub clock_drift_ppm: f64,
    /// Probability that a received packet is overtaken in the card's queues.
    pub overtaken: f64,
    /// Mean delay of an overtaken packet, nanoseconds, exponential.
    pub overtaken_ns: f64,
    /// Probability that a packet is dropped on receive before any socket.
    pub receive_drop: f64,
    /// What drops it, and counts it.
    pub receive_dropper: ReceiveDropper,
    /// Probability that a train is dropped on send.
    pub send_drop: f64,
    /// Share of one core that the hypervisor gives to others.
    pub stolen: f64,
    /// Share of one core that other programs use.
    pub other_load: f64,
}

impl Default for HostModel {
    fn default() -> Self {
        HostModel {
            wake_median_ns: 20_000.0,
            wake_sigma: 0.6,
            stalls_per_second: 2.0,
            stall_mean_ns: 1_000_000.0,
            stall_tail: None,
            send_call_ns: 3_000,
            packet_ns: 100,
            kilobyte_ns: 400,
            call_sigma: 0.25,
            crowded: 0.5,
            receive_buffer: 8 << 20,
            merge_packets: 1,
            merge_within_ns: 20_000,
            coalesce_ns: 0,
            timestamp_noise_ns: 1_000.0,
            cold_ns: 8_000.0,
            clock_offset_ns: 0,
            clock_drift_ppm: 0.0,
            overtaken: 0.0,
            overtaken_ns: 60_000.0,
            receive_drop: 0.0,
            receive_dropper: ReceiveDropper::Kernel,
            send_drop: 0.0,
            stolen: 0.0,
            other_load: 0.2,
        }
    }
}

impl HostModel {
    /// CPU time of one packet.
    pub(crate) fn packet_cost(&self, bytes: u32) -> u64 {
        self.packet_ns + self.kilobyte_ns * u64::from(bytes) / 1000
    }
}

/// A host's clock.
#[derive(Clone, Debug)]
pub(crate) struct HostClock {
    base_unix_ns: u64,
    drift_ppm: f64,
}

impl HostClock {
    /// The clock of a host in a measurement that began at Unix time `start_unix_ns`.
    pub fn new(model: &HostModel, start_unix_ns: u64) -> Self {
        HostClock {
            base_unix_ns: start_unix_ns.saturating_add_signed(model.clock_offset_ns),
            drift_ppm: model.clock_drift_ppm,
        }
    }

    /// Unix nanoseconds at virtual time `now`.
    pub fn unix(&self, now: u64) -> u64 {
        let drifted = (now as f64 * self.drift_ppm / 1e6) as i64;
        (self.base_unix_ns + now).saturating_add_signed(drifted)
    }
}

/// A host in one measurement: its clock, its timestamps and its threads.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub model: HostModel,
    pub clock: HostClock,
    random: Random,
    last_ns: u64,
    interrupt_ns: u64,
}

impl Host {
    /// A host of a measurement that began at Unix time `start_unix_ns`.
    pub fn new(model: &HostModel, start_unix_ns: u64, random: Random) -> Self {
        Host {
            model: model.clone(),
            clock: HostClock::new(model, start_unix_ns),
            random,
            last_ns: 0,
            interrupt_ns: 0,
        }
    }

    /// Another thread.
    pub fn thread(&mut self, now: u64) -> Thread {
        Thread::new(&self.model, self.random.fork(), now)
    }

    /// Kernel timestamp of a packet that arrives at `now`; no application gets it earlier.
    pub fn kernel_stamp(&mut self, now: u64) -> Stamp {
        let rested = now.saturating_sub(self.last_ns) >= REST_NS;
        self.last_ns = now;
        let cold = if rested {
            self.random.exponential(self.model.cold_ns)
        } else {
            0.0
        };
        let late = cold + self.random.exponential(self.model.timestamp_noise_ns);
        if now > self.interrupt_ns {
            self.interrupt_ns = now + self.model.coalesce_ns;
        }
        let at_ns = self.interrupt_ns + late as u64;
        Stamp {
            at_ns,
            unix_ns: self.clock.unix(at_ns),
        }
    }

    /// This host's random numbers.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }
}

/// Kernel timestamp of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    /// Virtual nanoseconds.
    pub at_ns: u64,
    /// Unix nanoseconds of the host's clock.
    pub unix_ns: u64,
}

/// One thread of a host: its actual run times.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    random: Random,
    wake_median_ns: f64,
    wake_sigma: f64,
    call_sigma: f64,
    gap_mean_ns: f64,
    stall: StallLength,
    stalled: (u64, u64),
}

/// How long a thread stalls.
#[derive(Clone, Copy, Debug)]
struct StallLength {
    mean_ns: f64,
    tail: Option<f64>,
}

impl StallLength {
    fn draw(&self, random: &mut Random) -> f64 {
        match self.tail {
            Some(shape) => random
                .pareto(self.mean_ns, shape)
                .min(LONGEST_STALL * self.mean_ns),
            None => random.exponential(self.mean_ns),
        }
    }
}

impl Thread {
    /// A thread of a host that begins at `now`.
    pub fn new(model: &HostModel, mut random: Random, now: u64) -> Self {
        let gap_mean_ns = if model.stalls_per_second > 0.0 {
            SECOND_NS / model.stalls_per_second
        } else {
            f64::INFINITY
        };
        let first = now as f64 + random.exponential(gap_mean_ns);
        let stall = StallLength {
            mean_ns: model.stall_mean_ns,
            tail: model.stall_tail,
        };
        let length = stall.draw(&mut random);
        Thread {
            wake_median_ns: model.wake_median_ns,
            wake_sigma: model.wake_sigma,
            call_sigma: model.call_sigma,
            gap_mean_ns,
            stall,
            stalled: (first as u64, (first + length) as u64),
            random,
        }
    }

    /// Duration of a call with the median `median_ns`.
    pub fn call(&mut self, median_ns: u64) -> u64 {
        self.random.log_normal(median_ns as f64, self.call_sigma) as u64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.random.chance(probability)
    }

    /// Actual time at which a running thread continues after `at`. Calls are in order of time.
    pub fn running(&mut self, at: u64) -> u64 {
        while self.stalled.1 <= at {
            let from = self.stalled.1 as f64 + self.random.exponential(self.gap_mean_ns);
            let to = from + self.stall.draw(&mut self.random);
            self.stalled = (from as u64, to as u64);
        }
        if at >= self.stalled.0 { self.stalled.1 } else { at }
    }

    /// Actual time at which a sleeping thread runs after an event at `at`.
    pub fn woken(&mut self, at: u64) -> u64 {
        let late = self.random.log_normal(self.wake_median_ns, self.wake_sigma);
        self.running(at + late as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_off_by_its_offset_and_drifts() {
        let model = HostModel {
            clock_offset_ns: -5_000,
            clock_drift_ppm: 10.0,
            ..HostModel::default()
        };
        let clock = HostClock::new(&model, 1_000_000_000);
        // 10 ppm of 2 s are 20 us.
        assert_eq!(clock.unix(0), 1_000_000_000 - 5_000);
        assert_eq!(clock.unix(2_000_000_000), 3_000_000_000 - 5_000 + 20_000);
    }

    #[test]
    fn stalls_come_as_often_and_last_as_long_as_the_model_says() {
        let model = HostModel {
            stalls_per_second: 50.0,
            stall_mean_ns: 2_000_000.0,
            ..HostModel::default()
        };
        let mut thread = Thread::new(&model, Random::new(3), 0);
        // One look each 10 us for 100 s; of a time of 20 ms between stalls and 2 ms in one, 2/22 are stalled.
        let stalled = (0..10_000_000_u64)
            .map(|step| step * 10_000)
            .filter(|&at| thread.running(at) != at)
            .count();
        let share = stalled as f64 / 1e7;
        assert!((share - 2.0 / 22.0).abs() < 0.01, "{share}");
    }

    #[test]
    fn packets_that_arrive_before_an_interrupt_wait_for_it() {
        let model = HostModel {
            coalesce_ns: 50_000,
            timestamp_noise_ns: 0.0,
            cold_ns: 0.0,
            ..HostModel::default()
        };
        let mut host = Host::new(&model, 0, Random::new(1));
        let stamps = [100, 20_000, 50_100, 50_101].map(|now| host.kernel_stamp(now).at_ns);
        assert_eq!(stamps, [50_100, 50_100, 50_100, 100_101]);
    }
}
