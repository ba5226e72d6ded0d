//! Encryption that a track comes with (common encryption, ISO/IEC 23001-7): the scheme and key identifier of its sample entry,
//! and initialization vectors and subsamples of its samples. It must not know keys, nor how anything is decrypted.

use crate::bmff::{BmffError, BoxWriter, Fields, Mp4Box};

use super::error::IndexError;

/// Samples say the subsamples that they are made of (`senc`, 7.2).
const HAS_SUBSAMPLES: u32 = 2;
/// Bytes of an entry of subsamples.
const SUBSAMPLE_BYTES: usize = 6;
/// Bytes of encryption data of a track: some million samples of video.
const MOST_BYTES: usize = 64 << 20;

/// By which scheme samples are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceScheme {
    /// Counter mode (10.1).
    Cenc,
    /// Cipher block chaining with a pattern (10.4).
    Cbcs,
}

/// What the sample entry says (`schm`, `tenc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceProtection {
    /// The scheme.
    pub scheme: SourceScheme,
    /// Identifier of the key.
    pub key_id: [u8; 16],
    /// Blocks that are encrypted of each run of blocks, and blocks left clear behind them; 0 and 0: all are encrypted.
    pub pattern: (u8, u8),
    /// Bytes of the initialization vector that each sample has: 0, 8 or 16.
    pub iv_bytes: u8,
    /// The initialization vector of samples that have none, padded with zeros.
    pub constant_iv: [u8; 16],
}

/// Encryption data of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleProtection<'t> {
    /// Padded with zeros.
    pub iv: [u8; 16],
    subsamples: &'t [u8],
}

impl<'t> SampleProtection<'t> {
    /// Clear and protected bytes, in turn; none: all of the sample is protected.
    pub fn subsamples(&self) -> impl ExactSizeIterator<Item = (u16, u32)> + use<'t> {
        let (entries, _) = self.subsamples.as_chunks::<SUBSAMPLE_BYTES>();
        let entries = entries.iter();
        entries.map(|[c0, c1, p0, p1, p2, p3]| {
            (
                u16::from_be_bytes([*c0, *c1]),
                u32::from_be_bytes([*p0, *p1, *p2, *p3]),
            )
        })
    }
}

/// Encryption data of all samples of a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectionTable {
    source: SourceProtection,
    /// Of each sample its initialization vector and its subsamples, as in `senc`.
    bytes: Vec<u8>,
    /// Where each begins.
    starts: Vec<u32>,
}

impl ProtectionTable {
    /// Of a track without samples.
    pub(super) fn new(source: SourceProtection) -> Self {
        ProtectionTable {
            source,
            bytes: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// What the sample entry says.
    pub fn source(&self) -> &SourceProtection {
        &self.source
    }

    /// Encryption data of a sample; none if there is no such sample.
    pub fn sample(&self, number: u32) -> Option<SampleProtection<'_>> {
        let number = number as usize;
        let start = *self.starts.get(number)? as usize;
        let end = self
            .starts
            .get(number + 1)
            .map_or(self.bytes.len(), |end| *end as usize);
        let (own, subsamples) = self
            .bytes
            .get(start..end)?
            .split_at_checked(self.source.iv_bytes.into())?;
        let mut iv = [0; 16];
        match own {
            [] => iv = self.source.constant_iv,
            own => iv.get_mut(..own.len())?.copy_from_slice(own),
        }
        Some(SampleProtection { iv, subsamples })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.starts.len() * size_of::<u32>()
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// As it is stored: lengths of the samples' data, and the data.
    pub(super) fn parts(&self) -> (impl Iterator<Item = u32>, &[u8]) {
        let ends = self
            .starts
            .iter()
            .copied()
            .skip(1)
            .chain([self.bytes.len() as u32]);
        let lengths = self.starts.iter().zip(ends).map(|(start, end)| end - start);
        (lengths, &self.bytes)
    }

    /// From what [`Self::parts`] gave; nothing if it contradicts itself.
    pub(super) fn from_parts(
        source: SourceProtection,
        lengths: impl Iterator<Item = u32>,
        bytes: Vec<u8>,
    ) -> Option<Self> {
        let mut table = ProtectionTable::new(source);
        let mut at = 0_u32;
        for length in lengths {
            let subsamples = length.checked_sub(source.iv_bytes.into())?;
            if !subsamples.is_multiple_of(SUBSAMPLE_BYTES as u32) {
                return None;
            }
            table.starts.push(at);
            at = at.checked_add(length)?;
        }
        table.bytes = bytes;
        (at as usize == table.bytes.len()).then_some(table)
    }

    /// Adds `count` samples from the `senc` box among these boxes. Without one, samples are protected as wholes with the
    /// constant initialization vector.
    pub(super) fn read(&mut self, within: &Mp4Box<'_>, count: usize, place: &str) -> Result<(), IndexError> {
        for groups in within.children_of(b"sgpd") {
            let mut fields = groups?.fields();
            fields.version_and_flags()?;
            if fields.four_cc()?.0 == *b"seig" {
                let what = "its samples are encrypted with several keys";
                return Err(IndexError::unsupported(place, what));
            }
        }
        let Some(found) = within.child(b"senc")? else {
            if self.source.iv_bytes > 0 && count > 0 {
                let what = "its samples are encrypted, and their encryption data is not in 'senc'";
                return Err(IndexError::unsupported(place, what));
            }
            let at = self.bytes.len() as u32;
            self.starts.resize(self.starts.len() + count, at);
            return Ok(());
        };
        let mut fields = found.fields();
        let (_, flags) = fields.version_and_flags()?;
        let told = fields.u32()?;
        if told as usize != count {
            let what = format!(
                "the 'senc' box at byte {} is of {told} samples of {count}",
                found.at
            );
            return Err(IndexError::broken(place, what));
        }
        for _ in 0..count {
            self.read_sample(&mut fields, flags & HAS_SUBSAMPLES != 0)?;
        }
        if self.bytes.len() > MOST_BYTES {
            return Err(IndexError::TooLarge {
                what: format!("bytes of encryption data of {place}"),
                value: self.bytes.len() as u64,
                limit: MOST_BYTES as u64,
            });
        }
        Ok(())
    }

    fn read_sample(&mut self, fields: &mut Fields<'_>, has_subsamples: bool) -> Result<(), BmffError> {
        let iv = fields.bytes(self.source.iv_bytes.into())?;
        let subsamples = match has_subsamples {
            true => {
                let count = fields.u16()?;
                fields.table(count.into(), SUBSAMPLE_BYTES)?
            }
            false => &[],
        };
        self.starts.push(self.bytes.len() as u32);
        self.bytes.extend_from_slice(iv);
        self.bytes.extend_from_slice(subsamples);
        Ok(())
    }
}

/// The sample entry of a protected track as it was before, and what it was protected with; `fields` are the bytes in front of
/// its boxes.
pub(super) fn unprotected_entry(
    entry: &Mp4Box<'_>,
    fields: usize,
    place: &str,
) -> Result<(Vec<u8>, SourceProtection), IndexError> {
    let missing = |kind: &[u8; 4]| IndexError::missing(kind, format!("the sample entry of {place}"));
    let sinf = entry.children_behind(fields).find_kind(b"sinf")?;
    let sinf = sinf.ok_or_else(|| missing(b"sinf"))?;
    let part = |kind: &[u8; 4]| sinf.child(kind)?.ok_or_else(|| missing(kind));
    let format = part(b"frma")?.fields().four_cc()?;
    let mut scheme = part(b"schm")?.fields();
    scheme.version_and_flags()?;
    let scheme = match scheme.four_cc()? {
        kind if kind.0 == *b"cenc" => SourceScheme::Cenc,
        kind if kind.0 == *b"cbcs" => SourceScheme::Cbcs,
        other => {
            let what = format!("its samples are encrypted by scheme {other}");
            return Err(IndexError::unsupported(place, what));
        }
    };
    let defaults = part(b"schi")?.child(b"tenc")?.ok_or_else(|| missing(b"tenc"))?;
    let source = read_defaults(&defaults, scheme, place)?;
    let head = entry.content.get(..fields).unwrap_or_default();
    let mut writer = BoxWriter::new();
    let mut clear = Ok(());
    writer.nest(&format.0, |clear_entry| {
        clear_entry.bytes(head);
        for child in entry.children_behind(fields) {
            match child {
                Ok(child) if child.kind.0 == *b"sinf" => {}
                Ok(child) => clear_entry.bytes(child.whole),
                Err(error) => clear = Err(error),
            }
        }
    });
    clear?;
    Ok((writer.into_bytes(), source))
}

/// `tenc` (8.2).
fn read_defaults(
    defaults: &Mp4Box<'_>,
    scheme: SourceScheme,
    place: &str,
) -> Result<SourceProtection, IndexError> {
    let mut fields = defaults.fields();
    let (version, _) = fields.version_and_flags()?;
    fields.u8()?;
    let pattern = match fields.u8()? {
        byte if version > 0 => (byte >> 4, byte & 0xf),
        _ => (0, 0),
    };
    let (is_protected, iv_bytes) = (fields.u8()?, fields.u8()?);
    let mut key_id = [0; 16];
    key_id.copy_from_slice(fields.bytes(16)?);
    let mut constant_iv = [0; 16];
    let mut has_iv = iv_bytes > 0;
    if is_protected == 1 && iv_bytes == 0 {
        let length = usize::from(fields.u8()?);
        has_iv = matches!(length, 8 | 16);
        if let Some(iv) = constant_iv.get_mut(..length) {
            iv.copy_from_slice(fields.bytes(length)?);
        }
    }
    if is_protected != 1 || !matches!(iv_bytes, 0 | 8 | 16) || !has_iv {
        let what = "its samples are encrypted with other defaults than those of 'cenc' and 'cbcs'";
        return Err(IndexError::unsupported(place, what));
    }
    Ok(SourceProtection {
        scheme,
        key_id,
        pattern,
        iv_bytes,
        constant_iv,
    })
}
