//! A queue in words. Every value is exact, in the form that a profile accepts.

use weir_units::{ByteCount, TimeSpan, format_count};

use super::{percent, significant};
use crate::spec::{CodelSpec, DisciplineSpec, DualPi2Spec, PieSpec, QueueLimit, QueueSpec, RedSpec};

/// The queue with its discipline and all parameters.
pub(super) fn queue(queue: &QueueSpec) -> String {
    match queue {
        QueueSpec::Unlimited => limit(QueueLimit::Unlimited),
        QueueSpec::Bytes(bytes) => limit(QueueLimit::Bytes(*bytes)),
        QueueSpec::Packets(packets) => limit(QueueLimit::Packets(*packets)),
        QueueSpec::Managed(managed) => {
            format!(
                "{} under {}",
                limit(managed.limit),
                discipline(&managed.discipline)
            )
        }
    }
}

fn limit(limit: QueueLimit) -> String {
    match limit {
        QueueLimit::Unlimited => "unlimited queue".to_owned(),
        QueueLimit::Bytes(bytes) => format!("queue {}", ByteCount(bytes)),
        QueueLimit::Packets(1) => "queue 1 packet".to_owned(),
        QueueLimit::Packets(packets) => format!("queue {} packets", format_count(packets)),
    }
}

fn discipline(discipline: &DisciplineSpec) -> String {
    match discipline {
        DisciplineSpec::TailDrop => "tail drop".to_owned(),
        DisciplineSpec::Red(spec) => format!("RED ({})", red(spec)),
        DisciplineSpec::Pie(spec) => format!("PIE ({})", pie(spec)),
        DisciplineSpec::FqCodel(spec) => format!(
            "FQ-CoDel ({} queues, quantum {} bytes, {})",
            format_count(u64::from(spec.flows)),
            spec.quantum,
            codel(&spec.codel)
        ),
        DisciplineSpec::DualPi2(spec) => format!("DualPI2 ({})", dualpi2(spec)),
        DisciplineSpec::Codel(spec) => format!("CoDel ({})", codel(spec)),
    }
}

fn red(spec: &RedSpec) -> String {
    format!(
        "average of {} to {} packets, probability up to {}, weight {}, packet time {}, {}, {}",
        significant(spec.minimum),
        significant(spec.maximum),
        percent(spec.max_probability),
        significant(spec.weight),
        TimeSpan(spec.packet_time_ns),
        if spec.gentle { "gentle" } else { "not gentle" },
        ecn(spec.ecn)
    )
}

fn pie(spec: &PieSpec) -> String {
    let mut parts = format!(
        "target {}, update {}, alpha {} Hz, beta {} Hz, burst allowance {}, mean packet {} bytes, {}",
        TimeSpan(spec.target_ns),
        TimeSpan(spec.update_ns),
        significant(spec.alpha),
        significant(spec.beta),
        TimeSpan(spec.max_burst_ns),
        spec.mean_packet,
        ecn(spec.ecn)
    );
    if spec.ecn {
        parts.push_str(&format!(" below {}", percent(spec.mark_below)));
    }
    if spec.derandomize {
        parts.push_str(", derandomized");
    }
    if spec.cap_adjustment {
        parts.push_str(", capped adjustment");
    }
    parts
}

fn dualpi2(spec: &DualPi2Spec) -> String {
    format!(
        "target {}, update {}, alpha {} Hz, beta {} Hz, coupling {}, L4S threshold {} and {} packets, range {}, \
         classic share {}",
        TimeSpan(spec.target_ns),
        TimeSpan(spec.update_ns),
        significant(spec.alpha),
        significant(spec.beta),
        significant(spec.coupling),
        TimeSpan(spec.threshold_ns),
        format_count(spec.threshold_packets),
        TimeSpan(spec.range_ns),
        percent(spec.classic_share)
    )
}

fn codel(spec: &CodelSpec) -> String {
    format!(
        "target {}, interval {}, maximum packet {} bytes, {}",
        TimeSpan(spec.target_ns),
        TimeSpan(spec.interval_ns),
        spec.max_packet,
        ecn(spec.ecn)
    )
}

fn ecn(ecn: bool) -> &'static str {
    if ecn { "ECN" } else { "no ECN" }
}
