//! What the kernel knew of streams, kept until their clients ask. It must not know connections.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::tcp;
use crate::tcp::TcpInfoSample;

/// Readings of one stream: ten a second for an hour.
const MOST_READINGS: usize = 36_000;

/// The newest streams, at most so many.
#[derive(Debug)]
pub(crate) struct Readings {
    most: usize,
    streams: Mutex<VecDeque<(u64, tcp::Readings)>>,
}

impl Readings {
    pub(crate) fn new(most: usize) -> Self {
        Readings {
            most: most.max(1),
            streams: Mutex::new(VecDeque::new()),
        }
    }

    /// Adds one of the stream `id`; the oldest stream makes room for a new one.
    pub(crate) fn add(&self, id: u64, congestion: &str, mss: u32, reading: TcpInfoSample) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if !streams.iter().any(|(known, _)| *known == id) {
            if streams.len() >= self.most {
                streams.pop_front();
            }
            streams.push_back((id, tcp::Readings::default()));
        }
        let found = streams.iter_mut().find(|(known, _)| *known == id);
        if let Some((_, kept)) = found.filter(|(_, kept)| kept.readings.len() < MOST_READINGS) {
            congestion.clone_into(&mut kept.congestion);
            kept.mss = mss;
            kept.readings.push(reading);
        }
    }

    /// Those of the stream `id`.
    pub(crate) fn of(&self, id: u64) -> Option<tcp::Readings> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let found = streams.iter().find(|(known, _)| *known == id);
        found.map(|(_, kept)| kept.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stream_makes_room() {
        let readings = Readings::new(2);
        let reading = |at_unix_ns| TcpInfoSample {
            at_unix_ns,
            rtt_ns: 1,
            cwnd_bytes: 2,
            retransmits: 3,
        };
        for id in [1, 2, 2, 3] {
            readings.add(id, "cubic", 1_448, reading(id));
        }
        assert_eq!(readings.of(1), None);
        assert_eq!(readings.of(2).unwrap().readings.len(), 2);
        assert_eq!(readings.of(3).unwrap().congestion, "cubic");
    }
}
