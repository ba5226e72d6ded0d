//! Forward erasure correction with a sliding window: the random linear code of [RFC 8681] over GF(256).
//!
//! An [`Encoder`] takes the packets of a stream and returns a repair packet after every few of them; a [`Decoder`] takes
//! the packets of both kinds that have arrived and returns the lost ones, as soon as they are determined. The wire format
//! has the payload identifiers of the RFC ([`SourcePayloadId`], [`RepairPayloadId`]).
//!
//! This crate must not know sockets, clocks, threads or where packets come from. Deadlines are counted in packets, and
//! the caller says when one has passed. Input may be hostile: memory is fixed when a decoder is built, and the work per
//! packet is bounded.
//!
//! ```
//! use weir_fec::{Adu, CodeRate, Decoder, DecoderConfig, Encoder, EncoderConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rate: CodeRate = "4/16".parse()?;
//! let mut encoder = Encoder::new(EncoderConfig::new(rate, 1_400));
//! let mut decoder = Decoder::new(DecoderConfig::new(rate.window(), 64, 1_400))?;
//! for text in ["one", "two", "three", "four"] {
//!     let esi = encoder.next_esi();
//!     let adu = Adu { flow: 0, payload: text.as_bytes() };
//!     let repair = encoder.push(adu)?;
//!     // The third packet is lost.
//!     if esi != 2 {
//!         decoder.source(esi, adu);
//!     }
//!     if let Some(repair) = repair {
//!         decoder.repair(repair.id, repair.symbol);
//!     }
//! }
//! let recovered = decoder.poll_recovered().ok_or("nothing was recovered")?;
//! assert_eq!((recovered.esi, recovered.adu.payload), (2, &b"three"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! [RFC 8681]: https://www.rfc-editor.org/rfc/rfc8681

mod adui;
mod choice;
mod code_rate;
mod coefficients;
mod decoder;
mod encoder;
mod engine;
pub mod gf256;
mod payload_id;
mod slots;
mod tinymt32;

pub use adui::{ADUI_HEADER, Adu, AduiError, MAX_PAYLOAD};
pub use choice::{Choice, ChoiceError};
pub use code_rate::{CodeRate, CodeRateError};
pub use coefficients::{Coefficients, Density};
pub use decoder::{
    Decoder, DecoderConfig, DecoderConfigError, DecoderCounters, MAX_HISTORY, Recovered, RepairArrival,
    SourceArrival,
};
pub use encoder::{Encoder, EncoderConfig, EncoderError, Repair};
pub use engine::{Engine, Kernel};
pub use payload_id::{MAX_WINDOW, PayloadIdError, RepairPayloadId, SourcePayloadId};
pub use tinymt32::TinyMt32;
