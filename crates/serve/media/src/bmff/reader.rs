//! Reading boxes: headers, children, and fields in order. Nothing here knows a box by its name, but for `uuid`, whose
//! header is longer.

use super::{BmffError, FourCc};

/// The header of a box (ISO/IEC 14496-12, 4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxHeader {
    /// Type of the box.
    pub kind: FourCc,
    /// Bytes of the header: 8 or 16, and 16 more for `uuid`.
    pub header_length: u64,
    /// Bytes of the whole box; none if it goes to the end of what it lies in.
    pub length: Option<u64>,
}

impl BoxHeader {
    /// The most bytes that a header has.
    pub const MOST_BYTES: u64 = 32;

    /// Reads the header that `bytes` begin with; none if they are too few to hold it. `at` is where they lie in the
    /// file.
    ///
    /// # Errors
    ///
    /// A length below that of the header itself.
    pub fn parse(bytes: &[u8], at: u64) -> Result<Option<BoxHeader>, BmffError> {
        let Some((head, rest)) = bytes.split_first_chunk::<8>() else {
            return Ok(None);
        };
        let [a, b, c, d, kind @ ..] = *head;
        let kind = FourCc(kind);
        let (mut header_length, length) = match u32::from_be_bytes([a, b, c, d]) {
            0 => (8, None),
            1 => {
                let Some(length) = rest.first_chunk() else {
                    return Ok(None);
                };
                (16, Some(u64::from_be_bytes(*length)))
            }
            length => (8, Some(u64::from(length))),
        };
        if kind.0 == *b"uuid" {
            header_length += 16;
        }
        if let Some(length) = length.filter(|length| *length < header_length) {
            return Err(BmffError::ShorterThanHeader { kind, at, length });
        }
        if header_length > bytes.len() as u64 {
            return Ok(None);
        }
        Ok(Some(BoxHeader {
            kind,
            header_length,
            length,
        }))
    }

    /// Bytes of the whole box, where `room` are left for it.
    ///
    /// # Errors
    ///
    /// Boxes that are longer than that. `at` is where the box begins in the file.
    pub fn length_within(&self, at: u64, room: u64) -> Result<u64, BmffError> {
        let length = self.length.unwrap_or(room);
        if length > room {
            return Err(BmffError::Overruns {
                kind: self.kind,
                at,
                length,
                room,
            });
        }
        Ok(length)
    }
}

/// A box and what it holds.
#[derive(Clone, Copy, Debug)]
pub struct Mp4Box<'a> {
    /// Its type.
    pub kind: FourCc,
    /// Where it begins in the file.
    pub at: u64,
    /// Where its content begins in the file.
    pub content_at: u64,
    /// What stands behind its header.
    pub content: &'a [u8],
    /// Header and content.
    pub whole: &'a [u8],
}

impl<'a> Mp4Box<'a> {
    /// The boxes in it, for boxes that hold nothing but boxes.
    pub fn children(&self) -> Boxes<'a> {
        Boxes::new(self.content, self.content_at)
    }

    /// The boxes behind its first `skipped` bytes of content; none of them if there are not so many.
    pub fn children_behind(&self, skipped: usize) -> Boxes<'a> {
        let rest = self.content.get(skipped..).unwrap_or_default();
        Boxes::new(rest, self.content_at + skipped as u64)
    }

    /// The first child of this type.
    ///
    /// # Errors
    ///
    /// Children that do not add up before it.
    pub fn child(&self, kind: &[u8; 4]) -> Result<Option<Mp4Box<'a>>, BmffError> {
        self.children().find_kind(kind)
    }

    /// The children of this type.
    pub fn children_of<'k>(
        &self,
        kind: &'k [u8; 4],
    ) -> impl Iterator<Item = Result<Mp4Box<'a>, BmffError>> + use<'a, 'k> {
        let is_wanted =
            |child: &Result<Mp4Box<'_>, _>| child.as_ref().map_or(true, |child| child.kind.0 == *kind);
        self.children().filter(is_wanted)
    }

    /// The entries of a full box (4.2.2) that has a count and so many entries of `entry_bytes` each.
    ///
    /// # Errors
    ///
    /// Fewer bytes than that.
    pub fn entries(&self, entry_bytes: usize) -> Result<&'a [u8], BmffError> {
        let mut fields = self.fields();
        fields.version_and_flags()?;
        let count = fields.u32()?;
        fields.table(count, entry_bytes)
    }

    /// Its fields, from the first byte of its content.
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            kind: self.kind,
            at: self.at,
            rest: self.content,
        }
    }
}

/// The boxes that follow each other in a slice. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Boxes<'a> {
    rest: &'a [u8],
    at: u64,
}

impl<'a> Boxes<'a> {
    /// Boxes in these bytes, which lie at `at` in the file.
    pub fn new(bytes: &'a [u8], at: u64) -> Self {
        Boxes { rest: bytes, at }
    }

    /// The first of this type.
    ///
    /// # Errors
    ///
    /// Boxes that do not add up before it.
    pub fn find_kind(self, kind: &[u8; 4]) -> Result<Option<Mp4Box<'a>>, BmffError> {
        for found in self {
            let found = found?;
            if found.kind.0 == *kind {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn take(&mut self) -> Result<Mp4Box<'a>, BmffError> {
        let room = self.rest.len() as u64;
        let remainder = BmffError::Remainder {
            at: self.at,
            left: room,
        };
        let header = BoxHeader::parse(self.rest, self.at)?.ok_or(remainder.clone())?;
        let length = header.length_within(self.at, room)?;
        let (whole, rest) = usize::try_from(length)
            .ok()
            .and_then(|length| self.rest.split_at_checked(length))
            .ok_or(remainder)?;
        let taken = Mp4Box {
            kind: header.kind,
            at: self.at,
            content_at: self.at + header.header_length,
            content: whole.get(header.header_length as usize..).unwrap_or_default(),
            whole,
        };
        self.rest = rest;
        self.at += length;
        Ok(taken)
    }
}

impl<'a> Iterator for Boxes<'a> {
    type Item = Result<Mp4Box<'a>, BmffError>;

    fn next(&mut self) -> Option<Self::Item> {
        // QuickTime ends some lists of atoms with four bytes of zero.
        if self.rest.is_empty() || self.rest == [0; 4] {
            return None;
        }
        let taken = self.take();
        if taken.is_err() {
            self.rest = &[];
        }
        Some(taken)
    }
}

/// The fields of a box, read one after the other. Each method fails with [`BmffError::Truncated`] where the box ends.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    kind: FourCc,
    at: u64,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn truncated(&self) -> BmffError {
        BmffError::Truncated {
            kind: self.kind,
            at: self.at,
        }
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], BmffError> {
        let (chunk, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(*chunk)
    }

    /// An octet.
    ///
    /// # Errors
    ///
    /// The box ends before.
    pub fn u8(&mut self) -> Result<u8, BmffError> {
        self.chunk().map(u8::from_be_bytes)
    }

    /// 16 bits, most significant first as everywhere in this format.
    ///
    /// # Errors
    ///
    /// The box ends before.
    pub fn u16(&mut self) -> Result<u16, BmffError> {
        self.chunk().map(u16::from_be_bytes)
    }

    /// 32 bits.
    ///
    /// # Errors
    ///
    /// The box ends before.
    pub fn u32(&mut self) -> Result<u32, BmffError> {
        self.chunk().map(u32::from_be_bytes)
    }

    /// 64 bits.
    ///
    /// # Errors
    ///
    /// The box ends before.
    pub fn u64(&mut self) -> Result<u64, BmffError> {
        self.chunk().map(u64::from_be_bytes)
    }

    /// Four characters.
    ///
    /// # Errors
    ///
    /// The box ends before.
    pub fn four_cc(&mut self) -> Result<FourCc, BmffError> {
        self.chunk().map(FourCc)
    }

    /// Version and flags of a full box (4.2.2).
    ///
    /// # Errors
    ///
    /// The box ends before.
    pub fn version_and_flags(&mut self) -> Result<(u8, u32), BmffError> {
        let word = self.u32()?;
        Ok(((word >> 24) as u8, word & 0x00ff_ffff))
    }

    /// 64 bits in version 1 of a full box, else 32.
    ///
    /// # Errors
    ///
    /// The box ends before.
    pub fn by_version(&mut self, version: u8) -> Result<u64, BmffError> {
        if version == 1 {
            self.u64()
        } else {
            self.u32().map(u64::from)
        }
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    ///
    /// The box ends before.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], BmffError> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(bytes)
    }

    /// All that is left.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// A table of `count` entries of `entry_bytes` each, still packed.
    ///
    /// # Errors
    ///
    /// Fewer bytes than that.
    pub fn table(&mut self, count: u32, entry_bytes: usize) -> Result<&'a [u8], BmffError> {
        let length = (count as usize).checked_mul(entry_bytes);
        let table = length.and_then(|length| self.rest.split_at_checked(length));
        let (table, rest) = table.ok_or(BmffError::TableTooLong {
            kind: self.kind,
            at: self.at,
            count: u64::from(count),
        })?;
        self.rest = rest;
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type, place of the content, and its length.
    type Found = ([u8; 4], u64, usize);

    fn kinds(bytes: &[u8]) -> Vec<Result<Found, String>> {
        Boxes::new(bytes, 100)
            .map(|found| match found {
                Ok(found) => Ok((found.kind.0, found.content_at, found.content.len())),
                Err(error) => Err(error.to_string()),
            })
            .collect()
    }

    #[test]
    fn headers_of_every_length_are_read() {
        let mut bytes = b"\0\0\0\x0afreeab".to_vec();
        bytes.extend(b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x13abc");
        bytes.extend(b"\0\0\0\x19uuid0123456789abcdefx");
        bytes.extend(b"\0\0\0\0mdatto the end");
        assert_eq!(
            kinds(&bytes),
            [
                Ok((*b"free", 108, 2)),
                Ok((*b"mdat", 126, 3)),
                Ok((*b"uuid", 153, 1)),
                Ok((*b"mdat", 162, 10)),
            ]
        );
        // QuickTime's end of a list.
        assert_eq!(kinds(b"\0\0\0\x08free\0\0\0\0").len(), 1);
    }

    #[test]
    fn lengths_that_cannot_be_end_the_list_with_an_error() {
        let error = |bytes: &[u8]| match &kinds(bytes)[..] {
            [Err(error)] => error.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            error(b"\0\0\0\x07free\0\0\0\x08free"),
            "box 'free' at byte 100 declares a length of 7 bytes, shorter than its header"
        );
        assert_eq!(
            error(b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x0f"),
            "box 'mdat' at byte 100 declares a length of 15 bytes, shorter than its header"
        );
        assert_eq!(
            error(b"\0\0\0\x10uuid0123456789abcdef"),
            "box 'uuid' at byte 100 declares a length of 16 bytes, shorter than its header"
        );
        assert_eq!(
            error(b"\0\0\0\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff"),
            "box 'mdat' at byte 100 declares a length of 18446744073709551615 bytes, but only 16 remain"
        );
        assert_eq!(
            error(b"\0\0\0\x08fr"),
            "the 6 bytes at byte 100 are too few for a box"
        );
        assert_eq!(
            error(b"\0\0\0\x01mdat\0"),
            "the 9 bytes at byte 100 are too few for a box"
        );
        assert_eq!(
            error(b"\0\0\0\x09\n\xffab"),
            "box '\\n\\xffab' at byte 100 declares a length of 9 bytes, but only 8 remain"
        );
    }

    #[test]
    fn a_table_is_no_longer_than_its_box() {
        let bytes = b"\0\0\0\x14stts\0\0\0\0\xff\xff\xff\xff\0\0\0\x01";
        let table = Boxes::new(bytes, 7).next().unwrap().unwrap();
        let mut fields = table.fields();
        assert_eq!(fields.version_and_flags(), Ok((0, 0)));
        let count = fields.u32().unwrap();
        assert_eq!(
            fields.table(count, 8).unwrap_err().to_string(),
            "box 'stts' at byte 7 declares 4294967295 entries, more than fit into its length"
        );
        assert_eq!(fields.u32(), Ok(1));
        assert_eq!(
            fields.u8().unwrap_err().to_string(),
            "box 'stts' at byte 7 ends in the middle of its fields"
        );
    }
}
