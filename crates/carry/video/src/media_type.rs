//! Formats as media type parameters, in the words of SMPTE ST 2110-20 (section 7) and RFC 4175 (section 6): what a
//! sender says in-band so that the receiver needs no configuration. It must not know where the text stands.
//!
//! Weir carries whole frames in whatever packing they come, and most packings have no name there. For these the
//! parameter `x-weir-packing` names the pixel format; `sampling` and `depth` then say what the samples are, and a
//! reader that does not know the extension can see that it does not (there is no `SSN`).
//!
//! Weir passes pixels on and does not know their colorimetry: `TCS` and `colorimetry` are `UNSPECIFIED`, the standard's
//! value for this. `exactframerate` counts frames, and an interlaced frame is both fields. `interlace` does not define
//! their order: the top field comes first, as in all HD formats, unless `x-weir-field-order=bff`.

use std::fmt::Write;

use thiserror::Error;
use weir_units::FrameRate;

use super::quoted::quoted;
use super::whole_number::whole_number;
use super::{FormatError, PixelFormat, Scan, VideoFormat};

/// Most bytes of media type parameters.
pub const MAX_MEDIA_TYPE_BYTES: usize = 1024;

/// Media type parameters that describe no format of ours.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MediaTypeError {
    /// Longer than anything that is meant.
    #[error("the media type parameters have {length} bytes; the maximum is {MAX_MEDIA_TYPE_BYTES}")]
    TooLong {
        /// Bytes given.
        length: usize,
    },
    /// Something else than printable ASCII.
    #[error("byte {at} of the media type parameters is not printable ASCII")]
    NotText {
        /// Where.
        at: usize,
    },
    /// Given twice.
    #[error("the media type parameter '{name}' is given twice")]
    Twice {
        /// Its name, shortened.
        name: String,
    },
    /// Needed and not given.
    #[error("the media type parameter '{name}' is missing")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// An invalid value.
    #[error("invalid media type parameter {name}={value}; write it like {example}")]
    Value {
        /// Parameter.
        name: &'static str,
        /// What was given, shortened.
        value: String,
        /// A value that would do.
        example: &'static str,
    },
    /// An unsupported pgroup.
    #[error(
        "unsupported packing sampling={sampling} with depth={depth}; supported are YCbCr-4:2:2 with 8 or 10 bits and RGB and RGBA with 8 bits"
    )]
    UnknownPacking {
        /// Parameter, shortened.
        sampling: String,
        /// Parameter, shortened.
        depth: String,
    },
    /// The packing has other samples than are said.
    #[error(
        "the media type parameters contradict each other: the packing {packing} does not have sampling={sampling} with depth={depth}"
    )]
    Contradiction {
        /// The packing named.
        packing: PixelFormat,
        /// Parameter, shortened.
        sampling: String,
        /// Parameter, shortened.
        depth: String,
    },
    /// The format that they describe cannot be.
    #[error(transparent)]
    Format(#[from] FormatError),
}

const WIDTH: &str = "width";
const HEIGHT: &str = "height";
const RATE: &str = "exactframerate";
const SAMPLING: &str = "sampling";
const DEPTH: &str = "depth";
const PACKING: &str = "x-weir-packing";
const INTERLACE: &str = "interlace";
const FIELD_ORDER: &str = "x-weir-field-order";

/// The parameters that mean something here; all others are passed over, since the standard has more and will have more.
const KNOWN: [&str; 8] = [
    WIDTH,
    HEIGHT,
    RATE,
    SAMPLING,
    DEPTH,
    PACKING,
    INTERLACE,
    FIELD_ORDER,
];

/// The values given for [`KNOWN`], in its order; flags are empty.
#[derive(Default)]
struct Parameters<'t> {
    values: [Option<&'t str>; KNOWN.len()],
}

impl<'t> Parameters<'t> {
    fn parse(text: &'t str) -> Result<Self, MediaTypeError> {
        let mut found = Parameters::default();
        for part in text.split(';') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (name.trim(), value.trim());
            let Some(at) = KNOWN.iter().position(|known| known.eq_ignore_ascii_case(name)) else {
                continue;
            };
            if found.values[at].replace(value).is_some() {
                return Err(MediaTypeError::Twice { name: quoted(name) });
            }
        }
        Ok(found)
    }

    fn get(&self, name: &str) -> Option<&'t str> {
        let at = KNOWN.iter().position(|known| *known == name)?;
        self.values[at]
    }

    fn need(&self, name: &'static str) -> Result<&'t str, MediaTypeError> {
        self.get(name).ok_or(MediaTypeError::Missing { name })
    }

    /// A flag has no value.
    fn flag(&self, name: &'static str) -> Result<bool, MediaTypeError> {
        match self.get(name) {
            None => Ok(false),
            Some("") => Ok(true),
            Some(value) => Err(bad_value(name, value, "the bare name")),
        }
    }
}

fn bad_value(name: &'static str, value: &str, example: &'static str) -> MediaTypeError {
    MediaTypeError::Value {
        name,
        value: quoted(value),
        example,
    }
}

/// `25` or `60000/1001` (ST 2110-20, 7.2); decimals are not exact and not allowed.
fn exact_rate(text: &str) -> Option<FrameRate> {
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    FrameRate::new(whole_number(numerator)?, whole_number(denominator)?)
}

fn packing(parameters: &Parameters) -> Result<PixelFormat, MediaTypeError> {
    let Some(name) = parameters.get(PACKING) else {
        let (sampling, depth) = (parameters.need(SAMPLING)?, parameters.need(DEPTH)?);
        return PixelFormat::of_pgroup(sampling, depth).ok_or_else(|| MediaTypeError::UnknownPacking {
            sampling: quoted(sampling),
            depth: quoted(depth),
        });
    };
    let packing: PixelFormat = name.parse()?;
    let (sampling, depth) = (packing.sampling().word(), packing.depth().to_string());
    let said_sampling = parameters.get(SAMPLING).unwrap_or(sampling);
    let said_depth = parameters.get(DEPTH).unwrap_or(&depth);
    if said_sampling != sampling || said_depth != depth {
        return Err(MediaTypeError::Contradiction {
            packing,
            sampling: quoted(said_sampling),
            depth: quoted(said_depth),
        });
    }
    Ok(packing)
}

impl VideoFormat {
    /// Reads what [`VideoFormat::media_type`] writes, and the parameters of any ST 2110-20 or RFC 4175 stream whose
    /// packing is one of ours: parameters in any order, unknown ones passed over, `a=fmtp:` and the like not included.
    ///
    /// # Errors
    ///
    /// Texts above [`MAX_MEDIA_TYPE_BYTES`] or not of printable ASCII, parameters that are missing, doubled or cannot
    /// be, packings that Weir does not know, and formats outside of the limits of [`VideoFormat::new`].
    pub fn from_media_type(text: &[u8]) -> Result<VideoFormat, MediaTypeError> {
        if text.len() > MAX_MEDIA_TYPE_BYTES {
            return Err(MediaTypeError::TooLong { length: text.len() });
        }
        let strange = |byte: &u8| !(b' '..=b'~').contains(byte);
        if let Some(at) = text.iter().position(strange) {
            return Err(MediaTypeError::NotText { at });
        }
        let text = str::from_utf8(text).map_err(|error| MediaTypeError::NotText {
            at: error.valid_up_to(),
        })?;
        let parameters = Parameters::parse(text)?;
        let size = |name, example| {
            let value = parameters.need(name)?;
            whole_number(value).ok_or_else(|| bad_value(name, value, example))
        };
        let (width, height) = (size(WIDTH, "1920")?, size(HEIGHT, "1080")?);
        let rate = parameters.need(RATE)?;
        let rate = exact_rate(rate).ok_or_else(|| bad_value(RATE, rate, "60000/1001 or 25"))?;
        let pixels = packing(&parameters)?;
        let scan = match (parameters.flag(INTERLACE)?, parameters.get(FIELD_ORDER)) {
            (false, _) => Scan::Progressive,
            (true, None | Some("tff")) => Scan::TopFieldFirst,
            (true, Some("bff")) => Scan::BottomFieldFirst,
            (true, Some(value)) => return Err(bad_value(FIELD_ORDER, value, "tff or bff")),
        };
        Ok(VideoFormat::new(width, height, rate, pixels)?.with_scan(scan))
    }

    /// The media type parameters of this format, which [`VideoFormat::from_media_type`] reads back to the same:
    /// `sampling=YCbCr-4:2:2; width=1920; height=1080; exactframerate=60000/1001; depth=10; ...`.
    pub fn media_type(self) -> String {
        let rate = self.frame_rate();
        let (sampling, depth) = (self.pixels().sampling().word(), self.pixels().depth());
        let mut text = format!(
            "sampling={sampling}; width={}; height={}; exactframerate={}",
            self.width(),
            self.height(),
            rate.numerator
        );
        // Writing to a string does not fail.
        if rate.denominator != 1 {
            let _ = write!(text, "/{}", rate.denominator);
        }
        let _ = write!(text, "; depth={depth}; TCS=UNSPECIFIED; colorimetry=UNSPECIFIED");
        text.push_str(match self.scan() {
            Scan::Progressive => "",
            Scan::TopFieldFirst => "; interlace",
            Scan::BottomFieldFirst => "; interlace; x-weir-field-order=bff",
        });
        if PixelFormat::of_pgroup(sampling, &depth.to_string()) == Some(self.pixels()) {
            // RGBA is one of RFC 4175 alone.
            if self.pixels() != PixelFormat::Rgba {
                text.push_str("; PM=2110GPM; SSN=ST2110-20:2017");
            }
        } else {
            let _ = write!(text, "; x-weir-packing={}", self.pixels());
        }
        text
    }
}
