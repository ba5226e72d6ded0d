//! Detects flows that are silent while others deliver, and silences of the whole stream. It must not know
//! the cause: a dark path, a stopped sender and a stalled receiver look the same.

use std::collections::VecDeque;

/// Ended stream-wide silences kept for [`SilenceDetector::take_stream_silence`]; older ones are only counted.
const KEPT: usize = 256;

/// A silence of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SilenceEnd {
    /// The flow, from 0.
    pub flow: usize,
    /// Time of its last packet before the silence, of the start of the watch, or of the end of a
    /// silence of all flows, whichever is latest.
    pub from_ns: u64,
    /// Time to the packet that ended it (or to the queried time, while it lasts).
    pub duration_ns: u64,
}

/// A silence of all flows together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StreamSilence {
    /// Time of the last packet of any flow before it (or of the start of the watch).
    pub from_ns: u64,
    /// Time to the packet that ended it (or to the queried time, while it lasts).
    pub duration_ns: u64,
}

/// Watches the arrivals of a stream's flows.
///
/// A flow is silent once a packet of another flow arrives a threshold or more after the flow's own last packet: that
/// packet proves that the stream continued without it. If no flow delivers for a threshold, that is one silence
/// of the stream and none of any flow; the flows then start again when it ends, except those that were silent
/// before it began, whose silence continues.
#[derive(Debug, Clone)]
pub struct SilenceDetector {
    threshold_ns: u64,
    /// Per flow: since when it has been silent.
    quiet_since_ns: Vec<u64>,
    /// The last packet of any flow, or when watching began.
    last_ns: Option<u64>,
    ended: VecDeque<StreamSilence>,
    stream_silences: u64,
    stream_silence_ns: u64,
}

impl SilenceDetector {
    /// Watches `flows` flows from the first call of any other method on. `threshold_ns` should be several times the
    /// time between two packets of one flow; the minimum is 1.
    pub fn new(flows: usize, threshold_ns: u64) -> Self {
        Self {
            threshold_ns: threshold_ns.max(1),
            quiet_since_ns: vec![0; flows],
            last_ns: None,
            ended: VecDeque::with_capacity(KEPT),
            stream_silences: 0,
            stream_silence_ns: 0,
        }
    }

    /// Notes a packet of `flow` and returns the silence of that flow that it ends, if any. A flow outside the range
    /// is ignored; a time before an earlier call's counts as that call's.
    #[inline]
    pub fn on_packet(&mut self, flow: usize, now_ns: u64) -> Option<SilenceEnd> {
        let last_ns = self.begin(now_ns);
        let now_ns = now_ns.max(last_ns);
        if flow >= self.quiet_since_ns.len() {
            return None;
        }
        if now_ns - last_ns >= self.threshold_ns {
            self.end_stream_silence(last_ns, now_ns);
        }
        let from_ns = self.quiet_since_ns[flow];
        let silent = self.is_silent(from_ns, last_ns);
        self.quiet_since_ns[flow] = now_ns;
        self.last_ns = Some(now_ns);
        silent.then(|| SilenceEnd {
            flow,
            from_ns,
            duration_ns: now_ns - from_ns,
        })
    }

    /// The flows that are silent now, with the durations.
    pub fn poll(&mut self, now_ns: u64) -> impl Iterator<Item = SilenceEnd> + '_ {
        let last_ns = self.begin(now_ns);
        let now_ns = now_ns.max(last_ns);
        let watch = &*self;
        watch
            .quiet_since_ns
            .iter()
            .enumerate()
            .filter(move |&(_, &from_ns)| watch.is_silent(from_ns, last_ns))
            .map(move |(flow, &from_ns)| SilenceEnd {
                flow,
                from_ns,
                duration_ns: now_ns - from_ns,
            })
    }

    /// The current silence of the whole stream, if any.
    pub fn stream_silence(&self, now_ns: u64) -> Option<StreamSilence> {
        let from_ns = self.last_ns?;
        let duration_ns = now_ns.saturating_sub(from_ns);
        (duration_ns >= self.threshold_ns).then_some(StreamSilence { from_ns, duration_ns })
    }

    /// The oldest ended silence of the whole stream that has not been taken yet. The latest 256 are kept.
    pub fn take_stream_silence(&mut self) -> Option<StreamSilence> {
        self.ended.pop_front()
    }

    /// Number of ended silences of the whole stream, and their total nanoseconds.
    pub fn stream_silence_totals(&self) -> (u64, u64) {
        (self.stream_silences, self.stream_silence_ns)
    }

    /// Ends the watch and returns the silences of flows still open. An open one of the whole stream is
    /// ended, too: take it with [`take_stream_silence`](Self::take_stream_silence).
    pub fn finish(&mut self, now_ns: u64) -> Vec<SilenceEnd> {
        let open: Vec<SilenceEnd> = self.poll(now_ns).collect();
        if let Some(silence) = self.stream_silence(now_ns) {
            self.keep(silence);
        }
        // No silence stays open, even if this is called again.
        let now_ns = self.last_ns.map_or(now_ns, |last_ns| last_ns.max(now_ns));
        self.quiet_since_ns.fill(now_ns);
        self.last_ns = Some(now_ns);
        open
    }

    /// The last packet of any flow; begins the watch at `now_ns` when this is the first call.
    #[inline]
    fn begin(&mut self, now_ns: u64) -> u64 {
        match self.last_ns {
            Some(last_ns) => last_ns,
            None => {
                self.quiet_since_ns.fill(now_ns);
                self.last_ns = Some(now_ns);
                now_ns
            }
        }
    }

    /// Whether a packet at `last_ns` proves the silence of a flow since `from_ns`.
    #[inline]
    fn is_silent(&self, from_ns: u64, last_ns: u64) -> bool {
        last_ns.saturating_sub(from_ns) >= self.threshold_ns
    }

    fn end_stream_silence(&mut self, from_ns: u64, now_ns: u64) {
        for flow in 0..self.quiet_since_ns.len() {
            if !self.is_silent(self.quiet_since_ns[flow], from_ns) {
                self.quiet_since_ns[flow] = now_ns;
            }
        }
        self.keep(StreamSilence {
            from_ns,
            duration_ns: now_ns - from_ns,
        });
    }

    fn keep(&mut self, silence: StreamSilence) {
        self.stream_silences += 1;
        self.stream_silence_ns += silence.duration_ns;
        if self.ended.len() == KEPT {
            self.ended.pop_front();
        }
        self.ended.push_back(silence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow_silence(flow: usize, from_ns: u64, duration_ns: u64) -> SilenceEnd {
        SilenceEnd {
            flow,
            from_ns,
            duration_ns,
        }
    }

    fn stream_silence(from_ns: u64, duration_ns: u64) -> StreamSilence {
        StreamSilence { from_ns, duration_ns }
    }

    #[test]
    fn one_flow_goes_dark_and_comes_back() {
        let mut detector = SilenceDetector::new(3, 10);
        for now in 0..50 {
            assert_eq!(detector.on_packet(0, now), None);
            assert_eq!(detector.on_packet(1, now), None);
            if now < 20 {
                assert_eq!(detector.on_packet(2, now), None);
            }
            let silent: Vec<_> = detector.poll(now).collect();
            if now < 29 {
                assert_eq!(silent, []);
            } else {
                assert_eq!(silent, [flow_silence(2, 19, now - 19)]);
            }
        }
        assert_eq!(detector.on_packet(2, 50), Some(flow_silence(2, 19, 31)));
        assert_eq!(detector.on_packet(2, 51), None);
        assert_eq!(detector.take_stream_silence(), None);
    }

    #[test]
    fn a_silence_of_all_is_one_of_the_stream_and_of_no_flow() {
        let mut detector = SilenceDetector::new(2, 10);
        detector.on_packet(0, 0);
        detector.on_packet(1, 5);
        assert_eq!(detector.stream_silence(14), None);
        assert_eq!(detector.stream_silence(20), Some(stream_silence(5, 15)));
        assert_eq!(detector.poll(20).count(), 0);
        assert_eq!(detector.on_packet(0, 105), None);
        assert_eq!(detector.on_packet(1, 106), None);
        assert_eq!(detector.take_stream_silence(), Some(stream_silence(5, 100)));
        assert_eq!(detector.take_stream_silence(), None);
        assert_eq!(detector.stream_silence_totals(), (1, 100));
    }

    #[test]
    fn a_flow_dark_before_a_silence_of_all_stays_dark_through_it() {
        let mut detector = SilenceDetector::new(2, 10);
        detector.on_packet(1, 0);
        detector.on_packet(0, 5);
        detector.on_packet(0, 12);
        detector.on_packet(0, 50);
        assert_eq!(detector.poll(55).collect::<Vec<_>>(), [flow_silence(1, 0, 55)]);
        assert_eq!(detector.on_packet(1, 60), Some(flow_silence(1, 0, 60)));
    }

    #[test]
    fn a_flow_that_never_delivers_is_silent_from_the_start_and_reported_at_the_end() {
        let mut detector = SilenceDetector::new(2, 10);
        for now in (100..200).step_by(5) {
            detector.on_packet(0, now);
        }
        assert_eq!(detector.finish(220), [flow_silence(1, 100, 120)]);
        assert_eq!(detector.take_stream_silence(), Some(stream_silence(195, 25)));
        assert_eq!(detector.finish(220), []);
        assert_eq!(detector.take_stream_silence(), None);
    }
}
