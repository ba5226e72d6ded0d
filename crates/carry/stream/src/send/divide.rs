//! Divides frames among the sending threads, without a copy: each thread gets its part of every frame, and the parts come
//! back to be one buffer again. It must not know packets.

use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::time::Duration;

use bytes::BytesMut;
use weir_control::Stop;
use weir_stream_proto::Shares;

use crate::StreamError;
use crate::priority::run_in_time;
use crate::source::{FromSource, Source, SourceFrame};

const NAP: Duration = Duration::from_millis(10);
/// Frames that wait for a thread: with those of the source enough for a thread that is scheduled late.
const AHEAD: usize = 2;
/// Parts that wait for their neighbours, for each share: more belong to frames whose other parts are gone.
const MOST_APART: usize = 64;

/// Where a sending thread takes its frames, or its parts of them.
pub(super) enum Frames<'a> {
    /// Whole frames, of a stream with one thread.
    Whole(&'a mut Source),
    /// The parts of one share.
    Part {
        inbox: Receiver<FromSource>,
        back: Sender<BytesMut>,
    },
}

impl Frames<'_> {
    /// The next item, if it is ready.
    pub(super) fn try_next(&self) -> Option<FromSource> {
        match self {
            Frames::Whole(source) => source.try_next(),
            Frames::Part { inbox, .. } => match inbox.try_recv() {
                Ok(next) => Some(next),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => {
                    let error = StreamError::Internal("the dividing thread failed".into());
                    Some(FromSource::End(Some(error)))
                }
            },
        }
    }

    /// Takes a buffer for reuse.
    pub(super) fn recycle(&self, bytes: BytesMut) {
        match self {
            Frames::Whole(source) => source.recycle(bytes),
            // At the end of a session nobody takes it.
            Frames::Part { back, .. } => drop(back.send(bytes)),
        }
    }
}

/// The thread that divides frames.
pub(super) struct Divider<'a> {
    source: &'a mut Source,
    shares: Shares,
    lanes: Vec<SyncSender<FromSource>>,
    back: Receiver<BytesMut>,
    apart: Apart,
}

/// A sending thread has ended, and with it the session.
struct Gone;

impl<'a> Divider<'a> {
    /// The divider, and what the threads of the shares take.
    pub(super) fn new<'b>(source: &'a mut Source, shares: Shares) -> (Self, Vec<Frames<'b>>) {
        let (give_back, back) = channel();
        let lane = |_| {
            let (lane, inbox) = sync_channel(AHEAD);
            let back = give_back.clone();
            (lane, Frames::Part { inbox, back })
        };
        let (lanes, frames) = (0..shares.count()).map(lane).unzip();
        let divider = Divider {
            source,
            shares,
            lanes,
            back,
            apart: Apart::default(),
        };
        (divider, frames)
    }

    /// Runs until the input or the session ends.
    pub(super) fn run(mut self, stop: &Stop) {
        run_in_time(self.shares.count());
        while !stop.is_set() {
            let Some(next) = self.source.next_within(NAP) else {
                continue;
            };
            let ends = matches!(next, FromSource::End(_));
            if self.hand_on(next).is_err() || ends {
                return;
            }
        }
    }

    fn hand_on(&mut self, next: FromSource) -> Result<(), Gone> {
        match next {
            FromSource::Frame(frame) => self.divide(frame),
            FromSource::Format(format) => self.to_all(|_| FromSource::Format(format)),
            FromSource::End(mut error) => self.to_all(|_| FromSource::End(error.take())),
        }
    }

    fn to_all(&self, mut item: impl FnMut(u16) -> FromSource) -> Result<(), Gone> {
        for (share, lane) in (0..).zip(&self.lanes) {
            lane.send(item(share)).map_err(|_| Gone)?;
        }
        Ok(())
    }

    fn divide(&mut self, frame: SourceFrame) -> Result<(), Gone> {
        let whole = frame.bytes.len();
        while let Ok(part) = self.back.try_recv() {
            if let Some(bytes) = self.apart.join(part, whole, self.lanes.len()) {
                self.source.recycle(bytes);
            }
        }
        if self.shares.part(0, whole).is_empty() {
            let reason = format!(
                "the format has fewer packets per frame than there are threads, {}; use --threads 1",
                self.lanes.len()
            );
            let mut error = Some(StreamError::Parameters(reason));
            self.to_all(|_| FromSource::End(error.take()))?;
            return Err(Gone);
        }
        let (number, timestamp_ns) = (frame.number, frame.timestamp_ns);
        let (mut rest, mut hash) = (frame.bytes, frame.hash);
        let shares = self.shares;
        self.to_all(|share| {
            let bytes = rest.split_to(shares.part(share, whole).len());
            FromSource::Frame(SourceFrame {
                number,
                timestamp_ns,
                bytes,
                hash: hash.take(),
            })
        })
    }
}

/// Parts whose neighbours have not come back.
#[derive(Default)]
struct Apart(Vec<BytesMut>);

impl Apart {
    /// Joins a part with its neighbours; returns a frame of `whole` bytes, if that is one now.
    fn join(&mut self, mut part: BytesMut, whole: usize, shares: usize) -> Option<BytesMut> {
        let ends_at = |bytes: &BytesMut| bytes.as_ptr().wrapping_add(bytes.len());
        if let Some(at) = self.0.iter().position(|it| ends_at(it) == part.as_ptr()) {
            let mut before = self.0.swap_remove(at);
            before.unsplit(part);
            part = before;
        }
        if let Some(at) = self.0.iter().position(|it| it.as_ptr() == ends_at(&part)) {
            part.unsplit(self.0.swap_remove(at));
        }
        if part.len() == whole {
            return Some(part);
        }
        if self.0.len() >= MOST_APART * shares {
            self.0.clear();
        }
        self.0.push(part);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_as_the_buffer_that_they_were() {
        let mut whole = BytesMut::zeroed(1_000);
        let place = whole.as_ptr();
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
            let second = whole.split_off(300);
            let mut parts = [Some(whole), Some(second), None];
            parts[2] = parts[1].as_mut().map(|second| second.split_off(400));
            let mut apart = Apart::default();
            let mut joined = None;
            for index in order {
                assert!(joined.is_none());
                joined = apart.join(parts[index].take().expect("a part"), 1_000, 3);
            }
            whole = joined.expect("the whole");
            assert_eq!((whole.as_ptr(), whole.len(), apart.0.len()), (place, 1_000, 0));
        }
    }

    #[test]
    fn parts_without_neighbours_do_not_pile_up() {
        let mut apart = Apart::default();
        for _ in 0..10_000 {
            apart.join(BytesMut::zeroed(10), 1_000, 2);
        }
        assert!(apart.0.len() <= 2 * MOST_APART);
    }
}
