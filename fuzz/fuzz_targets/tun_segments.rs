//! Input from a TUN device: packets with a virtio-net header. Any packet is segmented or refused, and
//! packets merged from their segments can be cut into the same segments again, in the order of each flow.
//!
//! The input is a list of packets: two bytes of length, then header and packet.

use std::collections::BTreeMap;

use weir_link::coalesce::{Coalescer, Merging};
use weir_link::headers::FlowHasher;
use weir_link::offload::Offload;
use weir_link::segment::{Cut, MAX_HEADER};

/// A segment for comparison. Where fragmentation is forbidden the identification has no meaning.
fn segment(cut: &Cut, packet: &[u8], index: usize) -> Vec<u8> {
    let mut header = [0; MAX_HEADER];
    let length = cut.write_header(packet, index, &mut header);
    if header[0] >> 4 == 4 {
        header[10..12].fill(0);
        if header[6] & 0x40 != 0 {
            header[4..6].fill(0);
        }
    }
    // The sum of a pseudo-header is never 0 where the kernel wrote it; here 0 and 0xffff are the same.
    let field = usize::from(cut.offload().checksum_start + cut.offload().checksum_offset);
    if header[field..field + 2] == [0xff; 2] {
        header[field..field + 2].fill(0);
    }
    let whole = [&header[..length], &packet[cut.payload(index)]].concat();
    assert_eq!(whole.len(), cut.length(index));
    whole
}

pub fn run(input: &[u8]) {
    let hasher = FlowHasher::new(1);
    let mut coalescer = Coalescer::new(Merging { tcp: true, udp: true });
    let mut sent: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    let mut rest = input;
    while let Some((length, more)) = rest.split_first_chunk() {
        let (read, more) = more.split_at(usize::from(u16::from_be_bytes(*length)).min(more.len()));
        rest = more;
        let Ok(offload) = Offload::decode(read) else {
            continue;
        };
        let packet = &read[Offload::LENGTH..];
        let Ok(Some(cut)) = Cut::of(&offload, packet) else {
            continue;
        };
        let flow = hasher.flow_key(packet).map_or(0, |key| key.five_tuple);
        for index in 0..cut.count() {
            sent.entry(flow).or_default().push(segment(&cut, packet, index));
            coalescer.push_segment(
                flow,
                &cut,
                packet,
                index,
                (flow, packet[cut.payload(index)].to_vec()),
            );
        }
    }
    coalescer.finish();
    let mut arrived: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    for outgoing in coalescer.outgoing() {
        let payload: Vec<u8> = outgoing
            .members()
            .iter()
            .flat_map(|(_, payload)| payload.clone())
            .collect();
        let large = [outgoing.header(), &payload].concat();
        let cut = Cut::of(&outgoing.offload(), &large);
        let cut = cut
            .expect("what was put together is whole")
            .expect("and can be cut");
        assert_eq!(cut.count(), outgoing.members().len());
        for index in 0..cut.count() {
            arrived
                .entry(outgoing.members()[0].0)
                .or_default()
                .push(segment(&cut, &large, index));
        }
    }
    assert_eq!(arrived, sent);
}
