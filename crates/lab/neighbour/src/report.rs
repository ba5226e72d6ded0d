//! What a measurement found, in one shape for all kinds. It must not know how it is shown.
//!
//! Times are nanoseconds, rates bits per second of payload, shares from 0 to 1. Delays are from the sender's clock to
//! the receiver's.

use serde::{Deserialize, Serialize};

use crate::distribution::{Distribution, Times, TimesAboveMin};
use crate::e_model::Rating;

/// A whole measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report<Sample, Figures> {
    /// `voip`, `udp`, `game`, `bulk` or `http`.
    pub kind: &'static str,
    /// How long it lasted.
    pub seconds: f64,
    /// When it began, Unix nanoseconds.
    pub started_unix_ns: u64,
    /// It was ended before its time.
    pub interrupted: bool,
    /// What happened in each tenth of a second.
    pub samples: Vec<Sample>,
    /// Figures of the whole measurement.
    pub figures: Figures,
    /// Of the kind's times; none for `bulk`.
    pub distribution: Option<Distribution>,
}

/// A measurement of any kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Measured {
    /// `voip` and `udp`.
    Delay(Report<DelaySample, DelayFigures>),
    /// `game`.
    Game(Report<GameSample, GameFigures>),
    /// `bulk`.
    Bulk(Report<BulkSample, BulkFigures>),
    /// `http`.
    Http(Report<HttpSample, HttpFigures>),
}

/// Datagrams that were sent in a tenth of a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelaySample {
    /// Its begin, after the start.
    pub at_ns: u64,
    /// Those that came.
    pub packets: u64,
    /// Their UDP payload.
    pub bytes: u64,
    /// Those that did not.
    pub lost: u64,
    /// Least one-way delay; none where nothing came.
    pub owd_min_ns: Option<i64>,
    /// Mean one-way delay.
    pub owd_mean_ns: Option<f64>,
    /// Most one-way delay.
    pub owd_max_ns: Option<i64>,
}

/// What became of datagrams.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelayFigures {
    /// Datagrams sent; if the sender did not say, up to the last that came.
    pub packets_sent: u64,
    /// The sender said how many there were.
    pub sent_is_known: bool,
    /// Distinct datagrams that came.
    pub packets_received: u64,
    /// Those that did not come, or more than two seconds after a later one.
    pub lost: u64,
    /// Share of those sent.
    pub loss: f64,
    /// Most in a row.
    pub longest_loss: u64,
    /// Further copies.
    pub duplicates: u64,
    /// Those that came after a later one.
    pub reordered: u64,
    /// UDP payload that came.
    pub bytes: u64,
    /// UDP payload that came, over the whole time.
    pub rate: u64,
    /// One-way delay; none if nothing came.
    pub owd: Option<Times>,
    /// One-way delay above the least.
    pub owd_above_min: Option<TimesAboveMin>,
    /// Interarrival jitter of RFC 3550 at the end.
    pub jitter_ns: f64,
    /// Its mean over all packets.
    pub jitter_mean_ns: f64,
    /// The most that it was.
    pub jitter_max_ns: f64,
    /// Datagrams that the sender's own host did not take; they count as lost.
    pub refused_by_sender: u64,
    /// Datagrams that this host dropped for want of a buffer; they count as lost.
    pub dropped_here: u64,
    /// The call as people would rate it; none for `udp`, or if nothing came.
    pub voice: Option<VoiceFigures>,
}

/// A call as people would rate it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VoiceFigures {
    /// One-way delay at which packets are played.
    pub playout_ns: i64,
    /// That, and the time that a packet takes to fill.
    pub mouth_to_ear_ns: i64,
    /// Packets that came after they should have been played.
    pub late: u64,
    /// Share of packets lost or late.
    pub loss: f64,
    /// Mean length of runs of those over that of random ones, at least 1.
    pub burst_ratio: f64,
    /// By the E-model.
    #[serde(flatten)]
    pub rating: Rating,
}

/// Frames that were sent in a tenth of a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GameSample {
    /// Its begin, after the start.
    pub at_ns: u64,
    /// Those that came whole.
    pub frames: u64,
    /// Of those, late ones.
    pub late: u64,
    /// Those that did not come whole.
    pub incomplete: u64,
    /// UDP payload of the whole ones.
    pub bytes: u64,
    /// Mean time from sending to completion; none where none came whole.
    pub completion_mean_ns: Option<f64>,
    /// Most time from sending to completion.
    pub completion_max_ns: Option<i64>,
}

/// What became of a game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GameFigures {
    /// Frames sent; if the sender did not say, up to the last of which something came.
    pub frames_sent: u64,
    /// The sender said how many there were.
    pub sent_is_known: bool,
    /// Frames of which every part came.
    pub frames_complete: u64,
    /// Frames of which a part is missing.
    pub incomplete: u64,
    /// Share of the frames sent.
    pub incomplete_share: f64,
    /// Whole frames whose completion took more than one frame interval longer than the fastest.
    pub late: u64,
    /// Share of the frames sent.
    pub late_share: f64,
    /// Between two frames.
    pub frame_interval_ns: u64,
    /// From sending the first part to the arrival of the last, of whole frames.
    pub completion: Option<Times>,
    /// The same above the least.
    pub completion_above_min: Option<TimesAboveMin>,
    /// Longest time without a new frame.
    pub longest_freeze_ns: u64,
    /// Inputs sent.
    pub inputs_sent: u64,
    /// Inputs that a whole frame answered.
    pub inputs_answered: u64,
    /// From an input to the completion of the first whole frame that was sent after it had arrived.
    pub input_to_frame: Option<Times>,
    /// Datagrams sent.
    pub packets_sent: u64,
    /// Distinct datagrams that came.
    pub packets_received: u64,
    /// Those that did not come, or more than two seconds after a later one.
    pub lost: u64,
    /// Share of those sent.
    pub loss: f64,
    /// UDP payload that came.
    pub bytes: u64,
    /// UDP payload that came, over the whole time.
    pub rate: u64,
    /// Datagrams that the sender's own host did not take; they count as lost.
    pub refused_by_sender: u64,
    /// Datagrams that this host dropped for want of a buffer; they count as lost.
    pub dropped_here: u64,
}

/// What came in a tenth of a second, and the state of the sender at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BulkSample {
    /// Its begin, after the start.
    pub at_ns: u64,
    /// Payload that came.
    pub bytes: u64,
    /// Over the tenth of a second.
    pub rate: u64,
    /// Mean of the connections' smoothed RTTs; none without a reading.
    pub rtt_ns: Option<u64>,
    /// Sum of the connections' congestion windows.
    pub cwnd_bytes: Option<u64>,
    /// Segments sent again in this time.
    pub retransmits: Option<u64>,
}

/// What a download came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BulkFigures {
    /// Connections.
    pub streams: u16,
    /// Payload that came.
    pub bytes: u64,
    /// Over the whole time.
    pub rate: u64,
    /// What the sender's kernel says; none if it could not be asked.
    pub sender: Option<SenderFigures>,
}

/// `TCP_INFO` of the sender, all connections together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SenderFigures {
    /// Congestion control.
    pub congestion: String,
    /// Segments sent again.
    pub retransmits: u64,
    /// Over the segments that the bytes make.
    pub retransmit_share: f64,
    /// Smoothed RTT, one value each tenth of a second and connection.
    pub rtt: Option<Times>,
    /// Largest congestion window of a connection.
    pub cwnd_max_bytes: u64,
}

/// What came in a tenth of a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HttpSample {
    /// Its begin, after the start.
    pub at_ns: u64,
    /// Payload that came.
    pub bytes: u64,
    /// Over the tenth of a second.
    pub rate: u64,
    /// Downloads that ended in it.
    pub completed: u64,
}

/// One download.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// When it was asked for, after the start.
    pub at_ns: u64,
    /// From the request to the first byte of the answer.
    pub first_byte_ns: u64,
    /// From the request to the last byte.
    pub duration_ns: u64,
}

/// What repeated downloads came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HttpFigures {
    /// Length of each.
    pub length: u64,
    /// Between the end of one and the next request.
    pub pause_ns: u64,
    /// Those that ended.
    pub downloads: u64,
    /// One that the end of the measurement broke off: 0 or 1.
    pub unfinished: u64,
    /// Payload that came.
    pub bytes: u64,
    /// Over the whole time.
    pub rate: u64,
    /// Time to connect, before the start.
    pub connect_ns: u64,
    /// From the request to the last byte.
    pub completion: Option<Times>,
    /// From the request to the first byte of the answer.
    pub first_byte: Option<Times>,
    /// Each download that ended.
    pub times: Vec<Completion>,
}

impl Measured {
    /// Of its kind's times, if it has one.
    pub fn distribution(&self) -> Option<&Distribution> {
        match self {
            Measured::Delay(report) => report.distribution.as_ref(),
            Measured::Game(report) => report.distribution.as_ref(),
            Measured::Bulk(report) => report.distribution.as_ref(),
            Measured::Http(report) => report.distribution.as_ref(),
        }
    }

    /// When it began, Unix nanoseconds.
    pub fn started_unix_ns(&self) -> u64 {
        match self {
            Measured::Delay(report) => report.started_unix_ns,
            Measured::Game(report) => report.started_unix_ns,
            Measured::Bulk(report) => report.started_unix_ns,
            Measured::Http(report) => report.started_unix_ns,
        }
    }

    /// It was ended before its time.
    pub fn is_interrupted(&self) -> bool {
        match self {
            Measured::Delay(report) => report.interrupted,
            Measured::Game(report) => report.interrupted,
            Measured::Bulk(report) => report.interrupted,
            Measured::Http(report) => report.interrupted,
        }
    }
}

/// Which sample an instant belongs to; none beyond the end.
pub(crate) fn sample_index(offset_ns: u64, duration_ns: u64) -> Option<usize> {
    (offset_ns < duration_ns).then_some((offset_ns / crate::SAMPLE_NS) as usize)
}

/// `bytes` in `nanoseconds` as bits per second.
pub(crate) fn rate_of(bytes: u64, nanoseconds: u64) -> u64 {
    let rate = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(nanoseconds.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// `part` of `whole`, 0 of nothing.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
