//! Raw video: whole frames of uncompressed pixels. It knows how pixels lie in a frame's bytes and how formats are
//! written down; it must not know how frames are paced, cut into packets and carried. It opens no file and no socket.
//!
//! What comes from outside (format texts, media type parameters, Y4M) is bounded before anything is allocated for it.
//!
//! ```
//! use weir_video::{FrameReader, Next, PixelFormat, Repacker};
//!
//! // What `ffmpeg ... -pix_fmt yuv422p10le -strict -1 -f yuv4mpegpipe -` gives, with one frame of 2 x 1 pixels.
//! let input = b"YUV4MPEG2 W2 H1 F60000:1001 Ip C422p10\nFRAME\n\x40\0\xac\x03\0\x02\0\x02";
//! let mut reader = FrameReader::open(&input[..], None)?;
//! assert_eq!(reader.format().to_string(), "2x1@59.94:yuv422p10le");
//!
//! let repacker = Repacker::new(reader.format(), PixelFormat::St2110)?;
//! let mut frame = vec![0; reader.format().frame_bytes()];
//! let mut packed = vec![0; repacker.to().frame_bytes()];
//! while reader.read_frame(&mut frame)? == Next::Frame {
//!     repacker.run(&frame, &mut packed)?;
//!     assert_eq!(packed, [0x80, 0x04, 0x08, 0x03, 0xac]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blank;
mod colour;
mod error;
mod format;
mod format_text;
mod frame_reader;
mod frame_writer;
mod layout;
mod media_type;
mod pattern;
mod pixel_format;
mod quoted;
mod repack;
mod row;
mod whole_number;
mod y4m;

pub use blank::fill_blank;
pub use error::{FormatError, FrameReadError, FrameWriteError, PatternError, RepackError};
pub use format::{MAX_FRAME_BYTES, MAX_FRAME_RATE, MAX_HEIGHT, MAX_WIDTH, Scan, VideoFormat};
pub use frame_reader::{FrameReader, Next};
pub use frame_writer::FrameWriter;
pub use media_type::{MAX_MEDIA_TYPE_BYTES, MediaTypeError};
pub use pattern::{TestPattern, read_frame_number};
pub use pixel_format::PixelFormat;
pub use repack::Repacker;
pub use y4m::{MAX_Y4M_LINE_BYTES, Y4mError, parse_y4m_header, y4m_header};
