//! The session with one receiver: agrees on parameters, and learns the destinations of the flows. It must not know what is
//! sent then.

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use weir_control::{Control, ControlError, Greeted};
use weir_net::{UdpOptions, UdpSocket};
use weir_stream_proto::Shares;
use weir_video::VideoFormat;
use weir_wire::{SessionId, SessionKeys};

use super::agreed::Agreed;
use super::stream::Stream;
use crate::messages::{ToReceiver, ToSender, Want};
use crate::source::{FromSource, Source};
use crate::{StreamError, Threads};

const NAP: Duration = Duration::from_millis(10);
/// Time limit for the receiver's request, and for its sockets.
const PATIENCE: Duration = Duration::from_secs(20);
/// Range of the latency budget, nanoseconds.
const LATENCIES: std::ops::RangeInclusive<u64> = 1_000_000..=10_000_000_000;

/// How a session ended without an error of this end.
pub(super) enum SessionEnd {
    /// The input has ended.
    StreamOver,
    /// Stopped by the user.
    Stopped,
    /// The receiver is disconnected.
    Left(String),
}

/// Why a session failed.
pub(super) enum Fault {
    Control(ControlError),
    Carry(StreamError),
}

impl From<ControlError> for Fault {
    fn from(error: ControlError) -> Self {
        Fault::Control(error)
    }
}

impl From<StreamError> for Fault {
    fn from(error: StreamError) -> Self {
        Fault::Carry(error)
    }
}

pub(super) struct Session<'a, 'b> {
    pub stream: &'a mut Stream<'b>,
    pub control: Control<ToSender>,
    pub id: SessionId,
    pub keys: SessionKeys,
    pub peer: SocketAddr,
    pub local: IpAddr,
}

impl Session<'_, '_> {
    /// The receiver's next message except keepalives; none if none arrives within `limit`.
    pub(super) fn next(&self, limit: Duration) -> Result<Option<ToSender>, ControlError> {
        match self.control.incoming.recv_timeout(limit) {
            Ok(Ok(ToSender::Beat)) | Err(RecvTimeoutError::Timeout) => Ok(None),
            Ok(message) => message.map(Some),
            Err(RecvTimeoutError::Disconnected) => Err(ControlError::Closed),
        }
    }

    pub(super) fn await_want(&self) -> Result<Option<Want>, Fault> {
        let deadline = Instant::now() + PATIENCE;
        while !self.stream.stop.is_set() {
            match self.next(NAP)? {
                Some(ToSender::Want(want)) if LATENCIES.contains(&want.latency_ns) => return Ok(Some(*want)),
                Some(ToSender::Leave) => return Err(ControlError::Closed.into()),
                Some(other) => return Err(nonsense(&other)),
                None if Instant::now() > deadline => return Err(ControlError::Silent.into()),
                None => {}
            }
        }
        Ok(None)
    }

    /// The format of the first frame: the receiver waits for a slow input.
    pub(super) fn await_format(&mut self, source: &Source) -> Result<Option<VideoFormat>, Fault> {
        while !self.stream.stop.is_set() {
            if let Some(format) = self.stream.format {
                return Ok(Some(format));
            }
            match source.next_within(NAP) {
                Some(FromSource::Format(format)) => self.stream.format = Some(format),
                Some(FromSource::End(error)) => {
                    let error =
                        error.unwrap_or_else(|| StreamError::Parameters("the input has no frames".into()));
                    let reason = error.to_string();
                    self.control
                        .writer
                        .send(&ToReceiver::Ended { reason: Some(reason) })?;
                    return Err(error.into());
                }
                Some(FromSource::Frame(frame)) => source.recycle(frame.bytes),
                None => {}
            }
            if let Some(message) = self.next(Duration::ZERO)? {
                return Err(nonsense(&message));
            }
        }
        Ok(None)
    }

    /// Why this receiver cannot be served, where another could.
    pub(super) fn cannot_serve(&self, want: &Want) -> Option<String> {
        let Threads::Exactly(count) = self.stream.config.threads else {
            return None;
        };
        (count > want.threads).then(|| {
            format!(
                "the sender has --threads {count}, and the receiver accepts {}: at most its --threads or its cores, and 1 with --join switch",
                want.threads
            )
        })
    }

    pub(super) fn agree(
        &self,
        want: Want,
        format: VideoFormat,
    ) -> Result<(Agreed, Vec<UdpSocket>), StreamError> {
        let config = self.stream.config;
        let of_frames = (format, self.stream.frame_ns());
        let mut agreed = Agreed::with(config, (want, self.peer, self.keys.protection), of_frames)?;
        let sockets = self.sockets(agreed.shares)?;
        let port = |index: usize| sockets[index].local().port();
        agreed.terms.ports = match sockets.len() {
            1 => vec![port(0)],
            _ => (0..config.flows)
                .map(|flow| port(self.socket_of(flow, agreed.shares)))
                .collect(),
        };
        Ok((agreed, sockets))
    }

    /// The socket of a flow: that of its share, or its own.
    fn socket_of(&self, flow: u16, shares: Shares) -> usize {
        let config = self.stream.config;
        if config.source_ports {
            return flow.into();
        }
        let has = |share: &u16| shares.flows(*share, config.flows).contains(&flow);
        (0..shares.count()).find(has).unwrap_or(0).into()
    }

    /// One socket for each share, or one for each flow, at the address that the receiver connected to.
    fn sockets(&self, shares: Shares) -> Result<Vec<UdpSocket>, StreamError> {
        let config = self.stream.config;
        let options = UdpOptions {
            send_buffer: 8 << 20,
            receive_buffer: 1 << 20,
            ..UdpOptions::default()
        };
        let count = match config.source_ports {
            true => config.flows,
            false => shares.count(),
        };
        let bind = |index| {
            let port = match config.media_port {
                0 => 0,
                first => first.saturating_add(index),
            };
            UdpSocket::bind(SocketAddr::new(self.local, port), &options).map_err(|error| {
                StreamError::Parameters(format!("{error}; choose another UDP port with --media-port"))
            })
        };
        (0..count).map(bind).collect()
    }

    /// Learns the destinations of the flows; none after a stop.
    pub(super) fn await_go(
        &self,
        sockets: &[UdpSocket],
        flows: u16,
    ) -> Result<Option<(Vec<SocketAddr>, bool)>, Fault> {
        let mut greeted = Greeted::new(self.id, self.keys.udp, self.peer.ip(), flows);
        let deadline = Instant::now() + PATIENCE;
        let mut active = None;
        while !self.stream.stop.is_set() {
            for socket in sockets {
                greeted.answer(socket);
            }
            match self.next(Duration::from_millis(2))? {
                Some(ToSender::Go { active: wanted }) => active = Some(wanted),
                Some(ToSender::Leave) => return Err(ControlError::Closed.into()),
                Some(other) => return Err(nonsense(&other)),
                None => {}
            }
            if let (Some(destinations), Some(active)) = (greeted.destinations(), active) {
                return Ok(Some((destinations, active)));
            }
            if Instant::now() > deadline {
                return Err(ControlError::Silent.into());
            }
        }
        Ok(None)
    }
}

pub(super) fn nonsense(message: &ToSender) -> Fault {
    let text = format!("{message:?}");
    let name = text.split(['(', '{', ' ']).next().unwrap_or_default();
    ControlError::Message(format!(
        "unexpected message {name}; do both ends run the same version of Weir?"
    ))
    .into()
}
