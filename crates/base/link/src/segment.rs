//! Segments a large packet of the kernel (TCP or UDP, IPv4 or IPv6) into the packets that a network card
//! would send: each with its own lengths, IP identification, TCP sequence number and flags. Their checksums stay
//! partial. It has no I/O, and does not touch the payload.

use std::ops::Range;

use thiserror::Error;

use crate::offload::{Offload, Segmentation};

/// Maximum length of IP and transport header together: IPv6 with some extension headers, TCP with all its options.
pub const MAX_HEADER: usize = 256;

pub(crate) const TCP_FIN: u8 = 0x01;
pub(crate) const TCP_PSH: u8 = 0x08;
pub(crate) const TCP_CWR: u8 = 0x80;
/// Offset of the flags in a TCP header.
pub(crate) const TCP_FLAGS: usize = 13;
const TCP_CHECKSUM: u16 = 16;
const UDP_CHECKSUM: u16 = 6;
const UDP_HEADER: usize = 8;

/// The transport protocols that can be segmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// RFC 9293.
    Tcp,
    /// RFC 768.
    Udp,
}

/// Why a packet cannot be segmented as its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SegmentError {
    /// Neither IPv4 nor IPv6, or its lengths contradict each other.
    #[error("not a complete IP packet")]
    NotIp,
    /// The transport header lies outside, or is longer than Weir handles.
    #[error("its transport header does not fit into the packet")]
    BadTransport,
    /// The offload header contradicts the packet.
    #[error("its offload header contradicts the packet")]
    Contradiction,
}

/// Positions of the parts of a packet with a partial checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// IPv6, else IPv4.
    pub v6: bool,
    /// The protocol after the IP headers.
    pub transport: Transport,
    /// Offset of the transport header.
    pub transport_start: usize,
    /// Offset of the payload.
    pub payload_start: usize,
}

impl Layout {
    /// The layout of a packet with a partial checksum; none if it is not such a TCP or UDP packet.
    ///
    /// # Errors
    /// When the packet is truncated, or contradicts `offload`.
    pub fn of(offload: &Offload, packet: &[u8]) -> Result<Option<Self>, SegmentError> {
        if !offload.needs_checksum {
            return match offload.segmentation {
                Segmentation::None => Ok(None),
                _ => Err(SegmentError::Contradiction),
            };
        }
        let (v6, header_end) = ip_header(packet)?;
        let transport = match (offload.checksum_offset, offload.segmentation) {
            (TCP_CHECKSUM, Segmentation::None) => Transport::Tcp,
            (TCP_CHECKSUM, Segmentation::Tcp4) if !v6 => Transport::Tcp,
            (TCP_CHECKSUM, Segmentation::Tcp6) if v6 => Transport::Tcp,
            (UDP_CHECKSUM, Segmentation::None | Segmentation::Udp) => Transport::Udp,
            (_, Segmentation::None) => return Ok(None),
            _ => return Err(SegmentError::Contradiction),
        };
        let transport_start = usize::from(offload.checksum_start);
        let rest = packet.get(transport_start..).ok_or(SegmentError::BadTransport)?;
        let transport_length = match transport {
            Transport::Udp => UDP_HEADER,
            Transport::Tcp => usize::from(*rest.get(12).ok_or(SegmentError::BadTransport)? >> 4) * 4,
        };
        let payload_start = transport_start + transport_length;
        let whole = match transport {
            Transport::Tcp => (20..=60).contains(&transport_length),
            Transport::Udp => true,
        };
        if transport_start < header_end || !whole || payload_start > packet.len().min(MAX_HEADER) {
            return Err(SegmentError::BadTransport);
        }
        Ok(Some(Layout {
            v6,
            transport,
            transport_start,
            payload_start,
        }))
    }

    /// Offset of the checksum field.
    pub(crate) fn checksum(&self) -> usize {
        self.transport_start
            + match self.transport {
                Transport::Tcp => usize::from(TCP_CHECKSUM),
                Transport::Udp => usize::from(UDP_CHECKSUM),
            }
    }

    /// The offload header of a packet with this layout and no segmentation.
    pub(crate) fn offload(&self) -> Offload {
        Offload {
            needs_checksum: true,
            segmentation: Segmentation::None,
            header_length: self.payload_start as u16,
            segment_size: 0,
            checksum_start: self.transport_start as u16,
            checksum_offset: (self.checksum() - self.transport_start) as u16,
        }
    }

    /// Writes the lengths of a packet with `payload` bytes into `header`, and updates its checksums.
    pub(crate) fn set_payload_length(&self, header: &mut [u8], payload: usize) {
        // An IPv6 packet may be longer than 16 bits allow, but its length fields wrap correctly.
        let total = (self.payload_start + payload) as u16;
        let transport_length = total.wrapping_sub(self.transport_start as u16);
        let before = self.transport_length(header);
        if self.v6 {
            header[4..6].copy_from_slice(&total.wrapping_sub(40).to_be_bytes());
        } else {
            header[2..4].copy_from_slice(&total.to_be_bytes());
        }
        if self.transport == Transport::Udp {
            let at = self.transport_start + 4;
            header[at..at + 2].copy_from_slice(&transport_length.to_be_bytes());
        }
        // The partial sum covers the pseudo-header, in which the length is the only thing that changes (RFC 1624).
        let sum = &mut header[self.checksum()..][..2];
        let old = u32::from(u16::from_be_bytes([sum[0], sum[1]]));
        sum.copy_from_slice(&fold(old + u32::from(!before) + u32::from(transport_length)).to_be_bytes());
    }

    /// Whether the transport header's length, if it has one, agrees with the IP header's.
    pub(crate) fn lengths_agree(&self, header: &[u8]) -> bool {
        let at = self.transport_start + 4;
        self.transport == Transport::Tcp
            || u16::from_be_bytes([header[at], header[at + 1]]) == self.transport_length(header)
    }

    /// The partial checksum without the length in it: the same in all packets of a flow whose sums are right.
    pub(crate) fn checksum_base(&self, header: &[u8]) -> u16 {
        let sum = &header[self.checksum()..][..2];
        let sum = u32::from(u16::from_be_bytes([sum[0], sum[1]]));
        // Of the two zeros of one's complement, one.
        match fold(sum + u32::from(!self.transport_length(header))) {
            0xffff => 0,
            base => base,
        }
    }

    /// Length of transport header and payload, by the IP header.
    fn transport_length(&self, header: &[u8]) -> u16 {
        let start = self.transport_start as u16;
        if self.v6 {
            u16::from_be_bytes([header[4], header[5]])
                .wrapping_add(40)
                .wrapping_sub(start)
        } else {
            u16::from_be_bytes([header[2], header[3]]).wrapping_sub(start)
        }
    }

    /// Recomputes the checksum of an IPv4 header.
    pub(crate) fn set_header_checksum(&self, header: &mut [u8]) {
        if self.v6 {
            return;
        }
        let end = usize::from(header[0] & 0x0f) * 4;
        header[10..12].fill(0);
        let words = header[..end].chunks_exact(2);
        let sum = words
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        let checksum = !fold(sum);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Checks version and lengths of an IP packet: whether it is IPv6, and where its first header ends.
fn ip_header(packet: &[u8]) -> Result<(bool, usize), SegmentError> {
    let word = |at: usize| usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 => {
            let header = usize::from(packet[0] & 0x0f) * 4;
            let whole = word(2) == packet.len() && (20..=packet.len()).contains(&header);
            whole.then_some((false, header)).ok_or(SegmentError::NotIp)
        }
        Some(6) if packet.len() >= 40 && word(4) + 40 == packet.len() => Ok((true, 40)),
        _ => Err(SegmentError::NotIp),
    }
}

/// Folds a sum of 16-bit words to one's complement (RFC 1071).
fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The segmentation of a packet; without any it is its only segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    layout: Layout,
    segment_size: usize,
    payload_end: usize,
    count: usize,
}

impl Cut {
    /// For a packet as read, with its offload header; none for one without segmentation
    /// and without a partial TCP or UDP checksum.
    ///
    /// # Errors
    /// When the packet is truncated, or contradicts its header.
    pub fn of(offload: &Offload, packet: &[u8]) -> Result<Option<Self>, SegmentError> {
        let Some(layout) = Layout::of(offload, packet)? else {
            return Ok(None);
        };
        let payload = packet.len() - layout.payload_start;
        let segment_size = match offload.segmentation {
            Segmentation::None => payload,
            _ if offload.segment_size == 0 => return Err(SegmentError::Contradiction),
            _ => usize::from(offload.segment_size),
        };
        Ok(Some(Cut {
            layout,
            segment_size,
            payload_end: packet.len(),
            count: payload.div_ceil(segment_size.max(1)).max(1),
        }))
    }

    /// Positions of the parts.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Number of segments, at least 1.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Range of the payload of segment `index` in the packet.
    pub fn payload(&self, index: usize) -> Range<usize> {
        let start = self.layout.payload_start + index * self.segment_size;
        start.min(self.payload_end)..(start + self.segment_size).min(self.payload_end)
    }

    /// Bytes of segment `index` with its headers.
    pub fn length(&self, index: usize) -> usize {
        self.layout.payload_start + self.payload(index).len()
    }

    /// Writes the headers of segment `index` of `packet` to `header` and returns their length. Send them with the offload
    /// header of [`Cut::offload`].
    ///
    /// # Panics
    /// When there is no such segment, or `packet` is another packet.
    pub fn write_header(&self, packet: &[u8], index: usize, header: &mut [u8; MAX_HEADER]) -> usize {
        assert!(index < self.count && packet.len() == self.payload_end);
        let layout = self.layout;
        let header = &mut header[..layout.payload_start];
        header.copy_from_slice(&packet[..layout.payload_start]);
        if self.count == 1 {
            return header.len();
        }
        layout.set_payload_length(header, self.payload(index).len());
        if layout.transport == Transport::Tcp {
            let tcp = &mut header[layout.transport_start..];
            let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
            let sequence = sequence.wrapping_add((index * self.segment_size) as u32);
            tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
            if index + 1 < self.count {
                tcp[TCP_FLAGS] &= !(TCP_FIN | TCP_PSH);
            }
            if index > 0 {
                tcp[TCP_FLAGS] &= !TCP_CWR;
            }
        }
        if !layout.v6 {
            let identification = u16::from_be_bytes([header[4], header[5]]).wrapping_add(index as u16);
            header[4..6].copy_from_slice(&identification.to_be_bytes());
            layout.set_header_checksum(header);
        }
        header.len()
    }

    /// The offload header of a segment: its checksum is partial.
    pub fn offload(&self) -> Offload {
        self.layout.offload()
    }
}
