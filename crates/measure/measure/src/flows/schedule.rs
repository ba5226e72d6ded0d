//! When each packet of a stream of frames is due: frames spread over their frame time, in blocks of at most one
//! burst. Pure: no clock, no socket.

use crate::VideoFormat;

/// Packets that leave back to back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// When, nanoseconds after the start of the stream.
    pub due_ns: u64,
    /// Frame that the packets belong to, from 0.
    pub frame: u64,
    /// Index of the first packet in its frame.
    pub first: u32,
    /// How many.
    pub packets: u32,
}

/// Cuts frames into packets and packets into blocks.
#[derive(Clone, Debug)]
pub struct FrameSchedule {
    format: VideoFormat,
    length: u32,
    burst: u32,
    frame: u64,
    next: u32,
}

impl FrameSchedule {
    /// A schedule for packets of `length` bytes, at most `burst` of them back to back.
    ///
    /// # Panics
    /// When `length` or `burst` is zero: callers check their parameters first.
    pub fn new(format: VideoFormat, length: u32, burst: u32) -> Self {
        assert!(length > 0 && burst > 0);
        FrameSchedule {
            format,
            length,
            burst,
            frame: 0,
            next: 0,
        }
    }

    /// Packets in one frame.
    pub fn packets_per_frame(&self) -> u32 {
        self.format.bytes_per_frame.div_ceil(self.length)
    }

    /// Bytes of the packet with that index in its frame; the last one may be shorter, but never shorter than
    /// `shortest`, which the header needs.
    pub fn packet_length(&self, index: u32, shortest: u32) -> u32 {
        let offset = u64::from(index) * u64::from(self.length);
        let left = u64::from(self.format.bytes_per_frame).saturating_sub(offset);
        u32::try_from(left)
            .unwrap_or(u32::MAX)
            .min(self.length)
            .max(shortest)
    }

    /// The next block; the stream has no end of its own.
    pub fn next_block(&mut self) -> Block {
        let per_frame = self.packets_per_frame();
        let start = self.format.frame_rate.start_ns(self.frame);
        let frame_ns = self.format.frame_rate.start_ns(self.frame + 1) - start;
        let within = u128::from(frame_ns) * u128::from(self.next) / u128::from(per_frame);
        let packets = self.burst.min(per_frame - self.next);
        let block = Block {
            due_ns: start + within as u64,
            frame: self.frame,
            first: self.next,
            packets,
        };
        self.next += packets;
        if self.next == per_frame {
            self.next = 0;
            self.frame += 1;
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(name: &str) -> VideoFormat {
        VideoFormat::named(name).expect("a known format")
    }

    #[test]
    fn a_frame_is_spread_over_its_time() {
        let mut schedule = FrameSchedule::new(format("1080p59.94-422-10"), 8100, 32);
        assert_eq!(schedule.packets_per_frame(), 640);
        let blocks: Vec<Block> = (0..21).map(|_| schedule.next_block()).collect();
        assert_eq!(
            blocks[0],
            Block {
                due_ns: 0,
                frame: 0,
                first: 0,
                packets: 32
            }
        );
        // Half of the frame is due at half of 16.683 ms.
        assert_eq!(blocks[10].due_ns, 16_683_333 / 2);
        assert_eq!(
            blocks[20],
            Block {
                due_ns: 16_683_333,
                frame: 1,
                first: 0,
                packets: 32
            }
        );
    }

    #[test]
    fn a_short_end_of_frame_is_a_short_block_and_a_short_packet() {
        let schedule = FrameSchedule::new(format("1080p59.94-422-10"), 1400, 128);
        let mut walk = schedule.clone();
        let mut packets = 0;
        let mut bytes = 0;
        loop {
            let block = walk.next_block();
            if block.frame == 1 {
                break;
            }
            packets += block.packets;
            bytes += (block.first..block.first + block.packets)
                .map(|index| u64::from(schedule.packet_length(index, 1)))
                .sum::<u64>();
        }
        assert_eq!(packets, 5_184_000_u32.div_ceil(1400));
        assert_eq!(bytes, 5_184_000);
    }
}
