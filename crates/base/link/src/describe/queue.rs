//! A queue in words. Every value is exact, in the form that a profile accepts.

use weir_units::{ByteCount, TimeSpan, format_count};

use crate::spec::{CodelSpec, DisciplineSpec, QueueLimit, QueueSpec};

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
        DisciplineSpec::Codel(spec) => format!("CoDel ({})", codel(spec)),
    }
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
