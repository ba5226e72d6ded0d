//! Packets that the queueing discipline of an interface dropped, by rtnetlink(7). It must not know why.

use std::collections::BTreeMap;
use std::io;

use crate::netlink;

/// `nlmsghdr`.
const HEADER: usize = 16;
/// `tcmsg`: family, padding, index, handle, parent, info.
const FIXED: usize = 20;
/// Parent of a root (`TC_H_ROOT`).
const ROOT: u32 = u32::MAX;
/// Attributes of `linux/rtnetlink.h` and `linux/gen_stats.h`.
const KIND: u16 = 1;
const STATISTICS: u16 = 7;
const QUEUE: u16 = 3;
/// What emulates a network on this host, as Weir's users do: its drops are the network's.
const EMULATOR: &[u8] = b"netem";

/// Packets dropped since each interface's root discipline was made, by index of the interface.
///
/// # Errors
/// As the kernel's.
pub(crate) fn dropped() -> io::Result<BTreeMap<i32, u64>> {
    let mut found = BTreeMap::new();
    netlink::dump(libc::RTM_GETQDISC, &[0; FIXED], |message| {
        if let Some((index, dropped)) = root(message) {
            found.insert(index, dropped);
        }
    })?;
    Ok(found)
}

/// Interface and drops of a message about a root discipline; none for others. A root such as `mq` sums those below it.
fn root(message: &[u8]) -> Option<(i32, u64)> {
    let fixed = message.get(HEADER..HEADER + FIXED)?;
    let index = i32::from_ne_bytes(fixed[4..8].try_into().ok()?);
    let parent = u32::from_ne_bytes(fixed[12..16].try_into().ok()?);
    let attributes = &message[HEADER + FIXED..];
    let kind = attribute(attributes, KIND)?;
    if parent != ROOT || kind.strip_suffix(&[0]).unwrap_or(kind) == EMULATOR {
        return None;
    }
    // gnet_stats_queue: qlen, backlog, drops, requeues, overlimits.
    let queue = attribute(attribute(attributes, STATISTICS)?, QUEUE)?;
    let drops = u32::from_ne_bytes(queue.get(8..12)?.try_into().ok()?);
    Some((index, u64::from(drops)))
}

/// The value of an attribute in a list.
fn attribute(mut list: &[u8], wanted: u16) -> Option<&[u8]> {
    while let Some(head) = list.get(..4) {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]) & !(libc::NLA_F_NESTED as u16);
        let value = list.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        list = list.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::HostCounters;
    use crate::interface::Interface;

    fn put(list: &mut Vec<u8>, kind: u16, value: &[u8]) {
        list.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
        list.extend_from_slice(&kind.to_ne_bytes());
        list.extend_from_slice(value);
        list.resize(list.len().next_multiple_of(4), 0);
    }

    fn message(parent: u32, kind: &[u8], drops: u32) -> Vec<u8> {
        let mut message = vec![0; HEADER + FIXED];
        message[HEADER + 4..HEADER + 8].copy_from_slice(&7_i32.to_ne_bytes());
        message[HEADER + 12..HEADER + 16].copy_from_slice(&parent.to_ne_bytes());
        put(&mut message, KIND, kind);
        let mut queue = vec![0; 20];
        queue[8..12].copy_from_slice(&drops.to_ne_bytes());
        let mut statistics = Vec::new();
        put(&mut statistics, 1, &[9; 16]);
        put(&mut statistics, QUEUE, &queue);
        put(&mut message, STATISTICS, &statistics);
        message
    }

    #[test]
    fn drops_of_roots_that_are_no_emulators() {
        let plain = message(ROOT, b"fq_codel\0", 41);
        assert_eq!(root(&plain), Some((7, 41)));
        assert_eq!(root(&message(0x10000, b"fq_codel\0", 41)), None);
        assert_eq!(root(&message(ROOT, b"netem\0", 41)), None);
        for length in 0..plain.len() {
            assert_eq!(root(&plain[..length]), None, "cut off at {length}");
        }
    }

    /// A queue that has no room for any packet.
    #[test]
    fn the_kernel_counts_what_a_full_queue_drops() {
        weir_rig::isolated!();
        let script = "\
            ip link add near type veth peer name far; ip link set near addrgenmode none
            ip link set near up; ip link set far up
            ip address add 10.9.0.1/24 dev near; ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev near
            tc qdisc add dev near root bfifo limit 100";
        weir_rig::run("sh", &["-ec", script]);
        let socket = std::net::UdpSocket::bind("10.9.0.1:0").unwrap();
        for _ in 0..50 {
            // The kernel may report that the queue is full.
            let _ = socket.send_to(&[0; 1_000], "10.9.0.2:9");
        }
        let found = dropped().unwrap();
        let index = Interface::named("near").unwrap().index().unwrap();
        assert_eq!(found.get(&index), Some(&50));
        let told = HostCounters::read(Some("near")).counts;
        assert_eq!((told.qdisc_dropped, told.udp_sndbuf_errors), (50, 50));
    }
}
