//! The datagrams between server and client: how they are laid out, and how bytes from outside are read. It must not
//! know addresses, times or state.
//!
//! Integers are big-endian. Every packet begins with `WN`, the version (1), its kind, and the client's nonce, which
//! names the conversation. The client asks for a token, which only the holder of its address receives, and shows it
//! with everything that changes the server's state; a packet that asks is longer than the answer.

use thiserror::Error;
use weir_units::{Rate, TimeSpan};

use crate::traffic::{Asked, Traffic};

const MAGIC: [u8; 2] = *b"WN";
const VERSION: u8 = 1;
/// Zeros behind the nonce of [`ToServer::Ask`], so that its answer is shorter.
const ASK_PADDING: usize = 20;

/// Header of [`ToClient::Data`], bytes.
pub(crate) const DATA_LENGTH: usize = 32;
/// Header of [`ToClient::Frame`], bytes.
pub(crate) const FRAME_LENGTH: usize = 52;

/// Why a datagram is not one of these packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    /// It begins otherwise, or has another version.
    #[error("not a neighbour packet")]
    Magic,
    /// It is of a kind that this end does not take.
    #[error("unexpected kind {0}")]
    Kind(u8),
    /// It has not the length of its kind.
    #[error("wrong length")]
    Length,
    /// A field holds what it cannot.
    #[error("field {0} is out of range")]
    Field(&'static str),
}

/// Why a server does not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The rate is above the limit, bits per second.
    #[error("its maximum rate is {}; use a lower rate, or start it with a higher --max-rate", Rate(*.0))]
    Rate(u64),
    /// The time is above the limit, nanoseconds.
    #[error("its maximum duration is {}; use a shorter --for, or start it with a longer --max-for", TimeSpan(*.0))]
    Duration(u64),
    /// So many are served already.
    #[error("its session limit of {0} is reached; wait until a client ends, or raise --max-sessions")]
    Sessions(u64),
}

/// What a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToServer {
    /// Asks for a token.
    Ask {
        /// Chosen at random by the client.
        nonce: u64,
    },
    /// Asks for traffic.
    Start {
        /// As in the question.
        nonce: u64,
        /// As in the answer.
        token: u64,
        /// What, and for how long.
        asked: Asked,
    },
    /// The client is still there, and what its player did.
    Here {
        /// As in the question.
        nonce: u64,
        /// As in the answer.
        token: u64,
        /// Number of the newest input, from 1; 0 for none.
        input: u32,
    },
    /// No more is wanted.
    Bye {
        /// As in the question.
        nonce: u64,
        /// As in the answer.
        token: u64,
    },
}

/// The header of a datagram that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// As in the question.
    pub nonce: u64,
    /// When the traffic began, by the server's clock, Unix nanoseconds.
    pub started_unix_ns: u64,
    /// When this left, by the server's clock, Unix nanoseconds.
    pub sent_unix_ns: u64,
    /// Counts the datagrams from 0.
    pub sequence: u32,
}

/// The header of a part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// As of any datagram.
    pub data: Data,
    /// Counts the frames from 0.
    pub frame: u32,
    /// Which part of the frame, from 0.
    pub part: u16,
    /// How many parts the frame has: 1 to [`Traffic::MOST_PARTS`].
    pub parts: u16,
    /// When the first part of the frame left, Unix nanoseconds.
    pub frame_sent_unix_ns: u64,
    /// Number of the newest input that had arrived by then; 0 for none.
    pub newest_input: u32,
}

/// What a server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToClient {
    /// Answers the question.
    Token {
        /// As in the question.
        nonce: u64,
        /// To be shown from now on.
        token: u64,
    },
    /// Nothing will be sent.
    Refused {
        /// As in the question.
        nonce: u64,
        /// Why.
        refusal: Refusal,
    },
    /// A datagram of a call, or one that is evenly spaced.
    Data(Data),
    /// A part of a frame.
    Frame(Frame),
    /// All has been sent.
    Done {
        /// As in the question.
        nonce: u64,
        /// Datagrams sent.
        packets: u32,
        /// Frames sent.
        frames: u32,
        /// Of the datagrams, those that the server's own host did not take.
        refused: u32,
    },
}

impl ToServer {
    /// Writes it into `out`, whose content is lost.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            ToServer::Ask { nonce } => {
                begin(out, 1, nonce);
                out.extend([0; ASK_PADDING]);
            }
            ToServer::Start { nonce, token, asked } => {
                begin(out, 2, nonce);
                out.extend(token.to_be_bytes());
                put_asked(out, asked);
            }
            ToServer::Here { nonce, token, input } => {
                begin(out, 3, nonce);
                out.extend(token.to_be_bytes());
                out.extend(input.to_be_bytes());
            }
            ToServer::Bye { nonce, token } => {
                begin(out, 4, nonce);
                out.extend(token.to_be_bytes());
            }
        }
    }

    /// Reads a datagram.
    ///
    /// # Errors
    /// When it is none of these packets.
    pub fn decode(datagram: &[u8]) -> Result<Self, PacketError> {
        let (kind, nonce, mut fields) = open(datagram)?;
        let packet = match kind {
            1 => {
                if fields.take::<ASK_PADDING>()? != [0; ASK_PADDING] {
                    return Err(PacketError::Field("padding"));
                }
                ToServer::Ask { nonce }
            }
            2 => ToServer::Start {
                nonce,
                token: fields.u64()?,
                asked: take_asked(&mut fields)?,
            },
            3 => ToServer::Here {
                nonce,
                token: fields.u64()?,
                input: fields.u32()?,
            },
            4 => ToServer::Bye {
                nonce,
                token: fields.u64()?,
            },
            other => return Err(PacketError::Kind(other)),
        };
        fields.end()?;
        Ok(packet)
    }
}

impl ToClient {
    /// Writes it into `out`, whose content is lost; a datagram that is measured is its header only.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            ToClient::Token { nonce, token } => {
                begin(out, 5, *nonce);
                out.extend(token.to_be_bytes());
            }
            ToClient::Refused { nonce, refusal } => {
                begin(out, 6, *nonce);
                let (reason, limit) = match *refusal {
                    Refusal::Rate(limit) => (1, limit),
                    Refusal::Duration(limit) => (2, limit),
                    Refusal::Sessions(limit) => (3, limit),
                };
                out.push(reason);
                out.extend(limit.to_be_bytes());
            }
            ToClient::Data(data) => put_data(out, 7, data),
            ToClient::Frame(frame) => {
                put_data(out, 8, &frame.data);
                out.extend(frame.frame.to_be_bytes());
                out.extend(frame.part.to_be_bytes());
                out.extend(frame.parts.to_be_bytes());
                out.extend(frame.frame_sent_unix_ns.to_be_bytes());
                out.extend(frame.newest_input.to_be_bytes());
            }
            ToClient::Done {
                nonce,
                packets,
                frames,
                refused,
            } => {
                begin(out, 9, *nonce);
                for count in [packets, frames, refused] {
                    out.extend(count.to_be_bytes());
                }
            }
        }
    }

    /// Reads a datagram.
    ///
    /// # Errors
    /// When it is none of these packets.
    pub fn decode(datagram: &[u8]) -> Result<Self, PacketError> {
        let (kind, nonce, mut fields) = open(datagram)?;
        let packet = match kind {
            5 => ToClient::Token {
                nonce,
                token: fields.u64()?,
            },
            6 => ToClient::Refused {
                nonce,
                refusal: take_refusal(&mut fields)?,
            },
            // What follows these two headers is padding.
            7 => return Ok(ToClient::Data(take_data(nonce, &mut fields)?)),
            8 => return Ok(ToClient::Frame(take_frame(nonce, &mut fields)?)),
            9 => ToClient::Done {
                nonce,
                packets: fields.u32()?,
                frames: fields.u32()?,
                refused: fields.u32()?,
            },
            other => return Err(PacketError::Kind(other)),
        };
        fields.end()?;
        Ok(packet)
    }
}

fn begin(out: &mut Vec<u8>, kind: u8, nonce: u64) {
    out.clear();
    out.extend(MAGIC);
    out.extend([VERSION, kind]);
    out.extend(nonce.to_be_bytes());
}

fn put_asked(out: &mut Vec<u8>, asked: Asked) {
    let (kind, frames_per_second, length, rate) = match asked.traffic {
        Traffic::Voice => (1, 0, 0, 0),
        Traffic::Even { rate, length } => (2, 0, length, rate.0),
        Traffic::Game {
            rate,
            frames_per_second,
            length,
        } => (3, frames_per_second, length, rate.0),
    };
    out.extend([kind, 0]);
    out.extend(frames_per_second.to_be_bytes());
    out.extend(length.to_be_bytes());
    out.extend(rate.to_be_bytes());
    out.extend(asked.duration_ns.to_be_bytes());
}

fn put_data(out: &mut Vec<u8>, kind: u8, data: &Data) {
    begin(out, kind, data.nonce);
    out.extend(data.started_unix_ns.to_be_bytes());
    out.extend(data.sent_unix_ns.to_be_bytes());
    out.extend(data.sequence.to_be_bytes());
}

/// What is left to read of a datagram.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], PacketError> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or(PacketError::Length)?;
        self.0 = rest;
        Ok(*field)
    }

    fn u16(&mut self) -> Result<u16, PacketError> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, PacketError> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, PacketError> {
        self.take().map(u64::from_be_bytes)
    }

    fn end(&self) -> Result<(), PacketError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(PacketError::Length)
        }
    }
}

/// Kind and nonce.
fn open(datagram: &[u8]) -> Result<(u8, u64, Fields<'_>), PacketError> {
    let mut fields = Fields(datagram);
    let [first, second, version, kind] = fields.take().map_err(|_| PacketError::Magic)?;
    if [first, second] != MAGIC || version != VERSION {
        return Err(PacketError::Magic);
    }
    let nonce = fields.u64()?;
    Ok((kind, nonce, fields))
}

fn take_asked(fields: &mut Fields<'_>) -> Result<Asked, PacketError> {
    let [kind, zero] = fields.take()?;
    let (frames_per_second, length) = (fields.u16()?, fields.u16()?);
    let (rate, duration_ns) = (Rate(fields.u64()?), fields.u64()?);
    let traffic = match kind {
        1 if rate.0 == 0 && length == 0 => Traffic::Voice,
        2 => Traffic::Even { rate, length },
        3 => Traffic::Game {
            rate,
            frames_per_second,
            length,
        },
        _ => return Err(PacketError::Field("traffic")),
    };
    if zero != 0 || (kind != 3 && frames_per_second != 0) || !traffic.is_sound() {
        return Err(PacketError::Field("traffic"));
    }
    if duration_ns == 0 {
        return Err(PacketError::Field("duration"));
    }
    Ok(Asked { traffic, duration_ns })
}

fn take_refusal(fields: &mut Fields<'_>) -> Result<Refusal, PacketError> {
    let [reason] = fields.take()?;
    let limit = fields.u64()?;
    match reason {
        1 => Ok(Refusal::Rate(limit)),
        2 => Ok(Refusal::Duration(limit)),
        3 => Ok(Refusal::Sessions(limit)),
        _ => Err(PacketError::Field("reason")),
    }
}

fn take_data(nonce: u64, fields: &mut Fields<'_>) -> Result<Data, PacketError> {
    Ok(Data {
        nonce,
        started_unix_ns: fields.u64()?,
        sent_unix_ns: fields.u64()?,
        sequence: fields.u32()?,
    })
}

fn take_frame(nonce: u64, fields: &mut Fields<'_>) -> Result<Frame, PacketError> {
    let frame = Frame {
        data: take_data(nonce, fields)?,
        frame: fields.u32()?,
        part: fields.u16()?,
        parts: fields.u16()?,
        frame_sent_unix_ns: fields.u64()?,
        newest_input: fields.u32()?,
    };
    if frame.parts > Traffic::MOST_PARTS || frame.part >= frame.parts {
        return Err(PacketError::Field("part"));
    }
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn traffic() -> impl Strategy<Value = Traffic> {
        let length = Traffic::LEAST_LENGTH..=Traffic::MOST_LENGTH;
        let rate = (1_u64..200_000_000).prop_map(Rate);
        prop_oneof![
            Just(Traffic::Voice),
            (rate.clone(), length.clone()).prop_map(|(rate, length)| Traffic::Even { rate, length }),
            (rate, 1_u16..=240, 1_000_u16..=9_000).prop_map(|(rate, frames_per_second, length)| {
                Traffic::Game {
                    rate,
                    frames_per_second,
                    length,
                }
            }),
        ]
        .prop_filter("sound", |traffic| traffic.is_sound())
    }

    fn to_server() -> impl Strategy<Value = ToServer> {
        let words = (any::<u64>(), any::<u64>(), any::<u32>());
        prop_oneof![
            any::<u64>().prop_map(|nonce| ToServer::Ask { nonce }),
            (words, traffic(), 1..u64::MAX).prop_map(|((nonce, token, _), traffic, duration_ns)| {
                ToServer::Start {
                    nonce,
                    token,
                    asked: Asked { traffic, duration_ns },
                }
            }),
            words.prop_map(|(nonce, token, input)| ToServer::Here { nonce, token, input }),
            words.prop_map(|(nonce, token, _)| ToServer::Bye { nonce, token }),
        ]
    }

    proptest! {
        #[test]
        fn what_a_client_writes_a_server_reads(packet in to_server()) {
            let mut bytes = Vec::new();
            packet.encode(&mut bytes);
            prop_assert_eq!(ToServer::decode(&bytes), Ok(packet));
            prop_assert!(ToClient::decode(&bytes).is_err());
            bytes.push(0);
            prop_assert_eq!(ToServer::decode(&bytes), Err(PacketError::Length));
        }

        #[test]
        fn what_a_server_writes_a_client_reads(
            words in any::<[u64; 4]>(), counts in any::<[u32; 3]>(), parts in 1..=Traffic::MOST_PARTS, kind in 0..6,
        ) {
            let [nonce, started_unix_ns, sent_unix_ns, frame_sent_unix_ns] = words;
            let data = Data { nonce, started_unix_ns, sent_unix_ns, sequence: counts[0] };
            let packet = match kind {
                0 => ToClient::Token { nonce, token: words[1] },
                1 => ToClient::Refused { nonce, refusal: Refusal::Rate(words[1]) },
                2 => ToClient::Refused { nonce, refusal: Refusal::Sessions(words[1]) },
                3 => ToClient::Data(data),
                4 => ToClient::Frame(Frame {
                    data,
                    frame: counts[1],
                    part: parts - 1,
                    parts,
                    frame_sent_unix_ns,
                    newest_input: counts[2],
                }),
                _ => ToClient::Done { nonce, packets: counts[0], frames: counts[1], refused: counts[2] },
            };
            let mut bytes = Vec::new();
            packet.encode(&mut bytes);
            prop_assert_eq!(ToClient::decode(&bytes), Ok(packet));
            prop_assert!(ToServer::decode(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = (ToServer::decode(&bytes), ToClient::decode(&bytes));
        }
    }

    #[test]
    fn an_answer_is_shorter_than_its_question() {
        let (mut question, mut answer) = (Vec::new(), Vec::new());
        ToServer::Ask { nonce: 1 }.encode(&mut question);
        ToClient::Token { nonce: 1, token: 2 }.encode(&mut answer);
        assert!(answer.len() <= question.len());
        let asked = Asked {
            traffic: Traffic::Voice,
            duration_ns: 1,
        };
        ToServer::Start {
            nonce: 1,
            token: 2,
            asked,
        }
        .encode(&mut question);
        ToClient::Refused {
            nonce: 1,
            refusal: Refusal::Sessions(64),
        }
        .encode(&mut answer);
        assert!(answer.len() <= question.len());
    }

    #[test]
    fn a_part_beyond_its_frame_is_refused() {
        let data = Data {
            nonce: 1,
            started_unix_ns: 2,
            sent_unix_ns: 3,
            sequence: 4,
        };
        let frame = |part, parts| Frame {
            data,
            frame: 5,
            part,
            parts,
            frame_sent_unix_ns: 6,
            newest_input: 7,
        };
        for (part, parts, length) in [
            (0, 0, FRAME_LENGTH),
            (3, 3, FRAME_LENGTH),
            (0, 4_097, FRAME_LENGTH),
        ] {
            let mut bytes = Vec::new();
            ToClient::Frame(frame(part, parts)).encode(&mut bytes);
            assert_eq!(bytes.len(), length);
            assert_eq!(ToClient::decode(&bytes), Err(PacketError::Field("part")));
        }
        let mut bytes = Vec::new();
        ToClient::Data(data).encode(&mut bytes);
        assert_eq!(bytes.len(), DATA_LENGTH);
    }
}
