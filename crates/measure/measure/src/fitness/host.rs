//! Checks of one host by its facts. A fact that the host does not know is not checked.

use weir_net::host::HostFacts;
use weir_record::Side;
use weir_units::{Rate, format_bytes, format_duration, format_percent, format_rate};

use super::{Check, CheckName, Fitness, Mend};

/// Socket buffers hold the stream for this long while its reader, or the card, is away.
const RECEIVE_NS: u64 = 8_000_000;
const SEND_NS: u64 = 2_000_000;
/// A receive ring holds packets of 1500 bytes for this long, until the kernel reads it.
const RING_NS: u64 = 2_000_000;
/// Bits of such a packet.
const PACKET_BITS: u64 = 12_000;
/// Files for the sockets of 1024 flows, which is the maximum.
const FILES: u64 = 1_024;
/// Rate above which one core does not send and receive.
const OF_ONE_CORE: Rate = Rate(1_000_000_000);
/// Rate above which packets of 1500 bytes are too many a second for most hosts.
const OF_SHORT_PACKETS: Rate = Rate(5_000_000_000);
/// Share of CPU time that the hypervisor may give to others.
const STEAL: f64 = 0.01;
/// Error of the clock that would show in one-way delays.
const CLOCK_ERROR_NS: u64 = 1_000_000;
/// Clock sources that every reading leaves the processor for.
const SLOW_CLOCKS: [&str; 3] = ["hpet", "acpi_pm", "jiffies"];
/// Offloads without which every packet costs a way through the kernel, and their names for `ethtool -K`.
const OFFLOADS: [(&str, &str); 3] = [
    ("rx-gro", "gro"),
    ("tx-generic-segmentation", "gso"),
    ("tx-scatter-gather", "sg"),
];

/// The checks of a host for media at `rate`.
pub fn check_host(facts: &HostFacts, side: Side, rate: Rate) -> Vec<Check> {
    let host = Host { facts, side, rate };
    [
        host.buffer(
            CheckName::ReceiveBuffer,
            "net.core.rmem_max",
            facts.rmem_max,
            RECEIVE_NS,
            4 << 20,
        ),
        host.buffer(
            CheckName::SendBuffer,
            "net.core.wmem_max",
            facts.wmem_max,
            SEND_NS,
            1 << 20,
        ),
        host.open_files(),
        host.cores(),
        host.steal(),
        host.governor(),
        host.clock_source(),
        host.clock(),
        host.instance_type(),
        host.interface_rate(),
        host.mtu(),
        host.ring(),
        host.queues(),
        host.offloads(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The check of a process of this host that will send or receive media: whether its threads may go before others.
pub fn check_real_time(permitted: bool) -> Check {
    Check {
        name: CheckName::RealTime,
        side: Side::Local,
        fitness: if permitted {
            Fitness::Good
        } else {
            Fitness::Warning
        },
        value: if permitted { "permitted" } else { "not permitted" }.to_owned(),
        wanted: "permitted".to_owned(),
        mend: (!permitted).then(|| Mend::command("setcap cap_sys_nice=ep \"$(command -v weir)\"")),
    }
}

struct Host<'a> {
    facts: &'a HostFacts,
    side: Side,
    rate: Rate,
}

impl Host<'_> {
    fn check(
        &self,
        name: CheckName,
        value: String,
        wanted: String,
        bad: Option<(Fitness, Mend)>,
    ) -> Option<Check> {
        Some(Check {
            name,
            side: self.side,
            fitness: bad.as_ref().map_or(Fitness::Good, |(fitness, _)| *fitness),
            value,
            wanted,
            mend: bad.map(|(_, mend)| mend),
        })
    }

    /// The interface's name; facts of an interface come with it.
    fn interface(&self) -> Option<&str> {
        self.facts.interface.as_deref()
    }

    /// Cores that have to send or take packets at the rate.
    fn busy_cores(&self) -> u32 {
        match self.rate {
            rate if rate > OF_SHORT_PACKETS => 4,
            rate if rate > OF_ONE_CORE => 2,
            _ => 1,
        }
    }

    fn buffer(
        &self,
        name: CheckName,
        key: &str,
        has: Option<u64>,
        hold_ns: u64,
        least: u64,
    ) -> Option<Check> {
        let has = has?;
        let bytes = u128::from(self.rate.0) * u128::from(hold_ns) / 8_000_000_000;
        let wanted = u64::try_from(bytes)
            .unwrap_or(u64::MAX >> 1)
            .max(least)
            .next_power_of_two();
        let bad = (has < wanted).then(|| (Fitness::Warning, Mend::parameter(key, wanted)));
        self.check(
            name,
            format_bytes(has),
            format!("at least {}", format_bytes(wanted)),
            bad,
        )
    }

    fn open_files(&self) -> Option<Check> {
        let has = self.facts.open_files?;
        let bad = (has < FILES).then(|| (Fitness::Warning, Mend::command(format!("ulimit -n {FILES}"))));
        self.check(
            CheckName::OpenFiles,
            has.to_string(),
            format!("at least {FILES}"),
            bad,
        )
    }

    fn cores(&self) -> Option<Check> {
        let wanted = self.busy_cores();
        // A host of an older version says nothing.
        let has = Some(self.facts.cores).filter(|cores| *cores > 0)?;
        let bad = (has < wanted).then(|| (Fitness::Warning, Mend::advice("Use a host with more cores.")));
        self.check(
            CheckName::Cores,
            has.to_string(),
            format!("at least {wanted}"),
            bad,
        )
    }

    fn steal(&self) -> Option<Check> {
        let has = self.facts.cpu_steal?;
        let bad = (has > STEAL).then(|| {
            let advice = "Use an instance with cores of its own, not a burstable or shared type.";
            (Fitness::Warning, Mend::advice(advice))
        });
        let wanted = format!("at most {}", format_percent(STEAL));
        self.check(CheckName::CpuSteal, format_percent(has), wanted, bad)
    }

    fn governor(&self) -> Option<Check> {
        let has = self.facts.governor.clone()?;
        let bad = (has != "performance").then(|| {
            (
                Fitness::Warning,
                Mend::command("cpupower frequency-set --governor performance"),
            )
        });
        self.check(CheckName::Governor, has, "performance".to_owned(), bad)
    }

    fn clock_source(&self) -> Option<Check> {
        let has = self.facts.clock_source.clone()?;
        let bad = SLOW_CLOCKS.contains(&has.as_str()).then(|| {
            let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
            (Fitness::Warning, Mend::command(format!("echo tsc > {file}")))
        });
        let wanted = format!("none of {}", SLOW_CLOCKS.join(", "));
        self.check(CheckName::ClockSource, has, wanted, bad)
    }

    fn clock(&self) -> Option<Check> {
        let synchronised = self.facts.clock_synchronised?;
        let error_ns = self.facts.clock_error_ns.unwrap_or(0);
        let start = || Mend::command("systemctl enable --now chrony");
        let (value, bad) = match (synchronised, error_ns) {
            (false, _) => ("not synchronised".to_owned(), Some((Fitness::Warning, start()))),
            (true, error) => {
                let bad = (error > CLOCK_ERROR_NS).then(|| {
                    let advice = "Use a nearer time source; the cloud's own is best ('chronyc sources').";
                    (Fitness::Warning, Mend::advice(advice))
                });
                (format!("error {}", format_duration(error)), bad)
            }
        };
        let wanted = format!("error at most {}", format_duration(CLOCK_ERROR_NS));
        self.check(CheckName::Clock, value, wanted, bad)
    }

    fn instance_type(&self) -> Option<Check> {
        let has = self.facts.instance.instance_type.clone()?;
        let starts: &[&str] = match self.facts.instance.cloud.as_deref()? {
            "aws" => &["t2.", "t3.", "t3a.", "t4g."],
            "google" => &["e2-micro", "e2-small", "e2-medium", "f1-", "g1-"],
            "azure" => &["Standard_B"],
            _ => &[],
        };
        let bad = starts.iter().any(|start| has.starts_with(start)).then(|| {
            let advice = "Use an instance type whose CPU and network do not run on credits.";
            (Fitness::Warning, Mend::advice(advice))
        });
        self.check(CheckName::InstanceType, has, "not burstable".to_owned(), bad)
    }

    fn interface_rate(&self) -> Option<Check> {
        let has = self.facts.interface_rate?;
        let bad = (has < self.rate.0).then(|| {
            let advice = format!(
                "Use a faster interface than {}, or a lower rate.",
                self.interface().unwrap_or("this")
            );
            (Fitness::Fault, Mend::advice(advice))
        });
        let wanted = format!("at least {}", format_rate(self.rate.0));
        self.check(CheckName::InterfaceRate, format_rate(has), wanted, bad)
    }

    fn mtu(&self) -> Option<Check> {
        let has = self.facts.mtu?;
        let wanted = if self.rate > OF_SHORT_PACKETS {
            8_500
        } else {
            1_500
        };
        let bad = (has < wanted).then(|| {
            let mtu = if wanted > 1_500 { 9_000 } else { 1_500 };
            let name = self.interface().unwrap_or("INTERFACE");
            (
                Fitness::Warning,
                Mend::command(format!("ip link set dev {name} mtu {mtu}")),
            )
        });
        self.check(
            CheckName::InterfaceMtu,
            format!("{has} bytes"),
            format!("at least {wanted} bytes"),
            bad,
        )
    }

    fn ring(&self) -> Option<Check> {
        let most = u64::from(self.facts.rx_ring_max.filter(|most| *most > 0)?);
        let has = u64::from(self.facts.rx_ring?);
        let packets = u128::from(self.rate.0) * u128::from(RING_NS) / u128::from(PACKET_BITS) / 1_000_000_000;
        let wanted = u64::try_from(packets)
            .unwrap_or(u64::MAX >> 1)
            .next_power_of_two()
            .min(most);
        let bad = (has < wanted).then(|| {
            let command = format!(
                "ethtool -G {} rx {wanted}",
                self.interface().unwrap_or("INTERFACE")
            );
            (Fitness::Warning, Mend::command(command))
        });
        self.check(
            CheckName::ReceiveRing,
            has.to_string(),
            format!("at least {wanted}"),
            bad,
        )
    }

    fn queues(&self) -> Option<Check> {
        let most = self.facts.queues_max.filter(|most| *most > 0)?;
        let has = self.facts.queues?;
        let wanted = most.min(self.facts.cores.max(1)).min(self.busy_cores());
        let bad = (has < wanted).then(|| {
            let name = self.interface().unwrap_or("INTERFACE");
            let advice = format!(
                "Give {name} more queues: 'ethtool -L {name} combined {wanted}', or 'rx {wanted}' where they are separate."
            );
            (Fitness::Warning, Mend::advice(advice))
        });
        self.check(
            CheckName::Queues,
            has.to_string(),
            format!("at least {wanted}"),
            bad,
        )
    }

    fn offloads(&self) -> Option<Check> {
        let name = self.interface().filter(|_| !self.facts.offloads.is_empty())?;
        let off: Vec<(&str, &str)> = OFFLOADS
            .into_iter()
            .filter(|(kernel, _)| !self.facts.offloads.iter().any(|on| on == kernel))
            .collect();
        let names = |of: &[(&str, &str)]| {
            let names: Vec<&str> = of.iter().map(|(_, name)| *name).collect();
            names.join(", ")
        };
        let bad = (!off.is_empty()).then(|| {
            let switches: String = off.iter().map(|(_, name)| format!(" {name} on")).collect();
            (
                Fitness::Warning,
                Mend::command(format!("ethtool -K {name}{switches}")),
            )
        });
        let value = if off.is_empty() {
            "on".to_owned()
        } else {
            format!("{} off", names(&off))
        };
        self.check(
            CheckName::Offloads,
            value,
            format!("{} on", names(&OFFLOADS)),
            bad,
        )
    }
}
