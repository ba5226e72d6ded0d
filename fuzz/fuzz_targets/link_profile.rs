//! Links as TOML: no text and no option may panic the reader; it refuses in one short line, and an accepted link is
//! accepted by the core too and carries packets.
//!
//! Input: TOML text, then any number of `KEY=VALUE`, all separated by zero bytes. The name of a trace is its content.

use std::path::Path;

use crate::checks::in_a_line;
use weir_link::trace::parse_trace;
use weir_link::{Ecn, FlowKey, Link, LinkFlags, LinkSpec, Nanos, Packet, Profile, ProfileError, describe};

fn read(text: &str, set: Vec<String>) -> Result<LinkSpec, ProfileError> {
    let mut profile = Profile::from_text(text, "fuzz", Path::new("/nonexistent"))?;
    profile.apply(&LinkFlags {
        set,
        ..LinkFlags::default()
    })?;
    profile.spec_with(&mut |name, format| parse_trace(name.as_bytes(), "trace", format))
}

fn carry(spec: &LinkSpec) {
    let mut link = Link::new(&spec.forward, spec.seed);
    for at in 0..64 {
        let now = Nanos(at * 400_000);
        let flow = FlowKey {
            five_tuple: at % 16,
            host_pair: 2,
            source_port: at as u16 % 4,
        };
        while link.poll(now).is_some() {}
        let packet = Packet {
            length: 1000,
            flow,
            ecn: Ecn::of_traffic_class(at as u8),
            payload: (),
        };
        link.enqueue(now, packet);
    }
    let counters = link.counters();
    assert_eq!(counters.offered, 64);
    assert_eq!(
        counters.offered + counters.duplicated,
        counters.delivered + counters.dropped.total() + link.in_flight()
    );
}

pub fn run(input: &[u8]) {
    let Ok(input) = std::str::from_utf8(input) else {
        return;
    };
    let mut parts = input.split('\0');
    let text = parts.next().unwrap_or_default();
    match read(text, parts.map(str::to_owned).collect()) {
        Ok(spec) => {
            assert_eq!(spec.check(), Ok(()));
            assert!(describe(&spec).iter().all(|line| !line.contains('\n')));
            carry(&spec);
        }
        Err(error) => in_a_line(error, 2500),
    }
}
