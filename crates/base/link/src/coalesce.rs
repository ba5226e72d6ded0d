//! Merges packets of one flow that leave together into one large packet, which the receiving host's kernel takes
//! as a whole and without checksums to compute, as with a network card's receive offload. The rules are those of
//! the kernel's GRO: only packets that can be separated again are merged. It has no I/O and copies no payload.

use crate::offload::{Offload, Segmentation};
use crate::segment::{Cut, Layout, MAX_HEADER, TCP_FIN, TCP_FLAGS, TCP_PSH, Transport};

const TCP_ACK: u8 = 0x10;
const TCP_ECE: u8 = 0x40;
/// Maximum packets in one: the limit of kernels before 6.9 for UDP (`UDP_MAX_SEGMENTS`).
const MOST_MEMBERS: usize = 64;
/// Maximum bytes in one, headers included.
const MOST_BYTES: usize = 65_535;
/// Maximum number of flows with an open packet. Beyond it the oldest is closed.
const MOST_OPEN: usize = 32;

/// Protocols for which the receiving side accepts large packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merging {
    /// TCP.
    pub tcp: bool,
    /// UDP, from kernel 6.2 on.
    pub udp: bool,
}

/// The content of one write.
#[derive(Debug)]
pub struct Outgoing<T> {
    header: [u8; MAX_HEADER],
    header_length: usize,
    layout: Option<Layout>,
    offload: Offload,
    segment_size: usize,
    payload: usize,
    next_sequence: u32,
    open: bool,
    members: Vec<T>,
}

impl<T> Outgoing<T> {
    /// Its header for a TUN device.
    pub fn offload(&self) -> Offload {
        self.offload
    }

    /// Its first bytes; empty where the members hold the whole packet.
    pub fn header(&self) -> &[u8] {
        &self.header[..self.header_length]
    }

    /// The members whose payloads follow, in order.
    pub fn members(&self) -> &[T] {
        &self.members
    }
}

/// Collects the packets of one wake-up and merges those of a flow. Memory is reused.
#[derive(Debug)]
pub struct Coalescer<T> {
    groups: Vec<Outgoing<T>>,
    used: usize,
    /// Flow and group, the latest last.
    open: Vec<(u64, usize)>,
    merging: Merging,
}

impl<T> Coalescer<T> {
    /// An empty one. Protocols not in `merging` stay packet by packet.
    pub fn new(merging: Merging) -> Self {
        Coalescer {
            groups: Vec::new(),
            used: 0,
            open: Vec::with_capacity(MOST_OPEN),
            merging,
        }
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        for group in &mut self.groups[..self.used] {
            group.members.clear();
        }
        self.used = 0;
        self.open.clear();
    }

    /// Takes all members out, for reuse of what they hold.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        let used = std::mem::take(&mut self.used);
        self.open.clear();
        self.groups[..used]
            .iter_mut()
            .flat_map(|group| group.members.drain(..))
    }

    /// The writes, in order.
    pub fn outgoing(&self) -> &[Outgoing<T>] {
        &self.groups[..self.used]
    }

    fn next_group(&mut self) -> &mut Outgoing<T> {
        if self.used == self.groups.len() {
            self.groups.push(Outgoing {
                header: [0; MAX_HEADER],
                header_length: 0,
                layout: None,
                offload: Offload::default(),
                segment_size: 0,
                payload: 0,
                next_sequence: 0,
                open: false,
                members: Vec::new(),
            });
        }
        self.used += 1;
        &mut self.groups[self.used - 1]
    }

    /// Adds a packet that is not merged: `member` stands for all of its bytes.
    pub fn push_whole(&mut self, flow: u64, offload: Offload, member: T) {
        // Later packets of its flow must not be merged with earlier ones.
        self.open.retain(|(open, _)| *open != flow);
        let group = self.next_group();
        group.header_length = 0;
        group.layout = None;
        group.offload = offload;
        group.open = false;
        group.members.push(member);
    }

    /// Adds segment `index` of `packet`; `member` stands for its payload.
    pub fn push_segment(&mut self, flow: u64, cut: &Cut, packet: &[u8], index: usize, member: T) {
        let payload = cut.payload(index).len();
        let mut header = [0; MAX_HEADER];
        let length = cut.write_header(packet, index, &mut header);
        let layout = cut.layout();
        let place = self.open.iter().position(|(open, _)| *open == flow);
        if let Some(place) = place {
            let group = &mut self.groups[self.open[place].1];
            if group.takes(&layout, &header[..length], payload) {
                group.add(&layout, &header[..length], payload, member);
                if !group.open {
                    self.open.remove(place);
                }
                return;
            }
            self.open.remove(place);
        }
        let merge = match layout.transport {
            Transport::Tcp => self.merging.tcp,
            Transport::Udp => self.merging.udp,
        };
        let group = self.next_group();
        group.begin(&layout, &header, payload, member);
        group.open &= merge;
        if group.open {
            if self.open.len() == MOST_OPEN {
                self.open.remove(0);
            }
            self.open.push((flow, self.used - 1));
        }
    }

    /// Ends the merging: writes lengths and checksums of the merged packets.
    pub fn finish(&mut self) {
        for group in &mut self.groups[..self.used] {
            group.finish();
        }
    }
}

/// Whether the flags mark a plain segment of a stream.
fn is_plain(flags: u8) -> bool {
    flags & TCP_ACK != 0 && flags & !(TCP_ACK | TCP_ECE | TCP_PSH | TCP_FIN) == 0
}

fn ends_stretch(flags: u8) -> bool {
    flags & (TCP_PSH | TCP_FIN) != 0
}

fn sequence(header: &[u8], layout: &Layout) -> u32 {
    let at = layout.transport_start + 4;
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

impl<T> Outgoing<T> {
    fn begin(&mut self, layout: &Layout, header: &[u8; MAX_HEADER], payload: usize, member: T) {
        self.header = *header;
        self.header_length = layout.payload_start;
        self.layout = Some(*layout);
        self.offload = layout.offload();
        self.segment_size = payload;
        self.payload = payload;
        self.open = payload > 0 && layout.lengths_agree(header);
        if layout.transport == Transport::Tcp {
            let flags = header[layout.transport_start + TCP_FLAGS];
            self.next_sequence = sequence(header, layout).wrapping_add(payload as u32);
            self.open &= is_plain(flags) && !ends_stretch(flags);
        }
        self.members.push(member);
    }

    /// Whether `header` continues this packet.
    fn takes(&self, layout: &Layout, header: &[u8], payload: usize) -> bool {
        let fits = (1..=self.segment_size).contains(&payload)
            && self.members.len() < MOST_MEMBERS
            && self.header_length + self.payload + payload <= MOST_BYTES;
        self.open && fits && self.layout == Some(*layout) && self.continues(layout, header)
    }

    fn continues(&self, layout: &Layout, header: &[u8]) -> bool {
        let (ours, start) = (self.header(), layout.transport_start);
        let same = |from: usize, to: usize| ours[from..to] == header[from..to];
        let ip = if layout.v6 {
            same(0, 4) && same(6, start)
        } else {
            same(0, 2) && same(6, 10) && same(12, start) && self.identification_follows(header)
        };
        let transport = match layout.transport {
            Transport::Udp => same(start, start + 4),
            Transport::Tcp => {
                let flags = header[start + TCP_FLAGS];
                let differing = (flags ^ ours[start + TCP_FLAGS]) & !(TCP_PSH | TCP_FIN);
                same(start, start + 4)
                    && same(start + 8, start + TCP_FLAGS)
                    && same(start + 14, start + 16)
                    && same(start + 18, layout.payload_start)
                    && is_plain(flags)
                    && differing == 0
                    && sequence(header, layout) == self.next_sequence
            }
        };
        // The first one's checksum stands for all, so a wrong one must not become right, nor a right one wrong.
        ip && transport
            && layout.lengths_agree(header)
            && layout.checksum_base(ours) == layout.checksum_base(header)
    }

    /// Whether the IPv4 identification is the next one. Without fragmentation it has no meaning (RFC 6864,
    /// section 4.1).
    fn identification_follows(&self, header: &[u8]) -> bool {
        let of = |header: &[u8]| u16::from_be_bytes([header[4], header[5]]);
        let forbidden = header[6] & 0x40 != 0;
        forbidden || of(header) == of(self.header()).wrapping_add(self.members.len() as u16)
    }

    fn add(&mut self, layout: &Layout, header: &[u8], payload: usize, member: T) {
        self.payload += payload;
        self.next_sequence = self.next_sequence.wrapping_add(payload as u32);
        self.open = payload == self.segment_size;
        if layout.transport == Transport::Tcp {
            let at = layout.transport_start + TCP_FLAGS;
            self.header[at] |= header[at] & (TCP_PSH | TCP_FIN);
            self.open &= !ends_stretch(header[at]);
        }
        self.members.push(member);
    }

    fn finish(&mut self) {
        let Some(layout) = self.layout else { return };
        if self.members.len() < 2 {
            return;
        }
        let header = &mut self.header[..self.header_length];
        layout.set_payload_length(header, self.payload);
        layout.set_header_checksum(header);
        self.offload.segment_size = self.segment_size as u16;
        self.offload.segmentation = match (layout.transport, layout.v6) {
            (Transport::Udp, _) => Segmentation::Udp,
            (Transport::Tcp, false) => Segmentation::Tcp4,
            (Transport::Tcp, true) => Segmentation::Tcp6,
        };
    }
}
