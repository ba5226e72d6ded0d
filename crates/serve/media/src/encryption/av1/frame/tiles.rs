//! How a frame of AV1 is divided into tiles (5.9.15), and where the tiles lie in a tile group (5.11.1). It must not
//! know what else headers say.

use std::ops::Range;

use crate::encryption::av1::bits::ObuBits;
use crate::encryption::error::UnitError;

/// The most pixels across of a tile, and the most pixels in all.
const WIDEST: u32 = 4096;
const LARGEST: u32 = 4096 * 2304;
/// Tiles in each direction, at most.
const MOST: u32 = 64;

/// The tiles of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::encryption::av1) struct Tiles {
    count: u32,
    /// Bits that a tile's number takes.
    number_bits: u32,
    /// Bytes that tell the size of a tile.
    size_bytes: usize,
}

/// `tile_log2`: the least k for which `block << k` is at least `target`.
fn log2_of(block: u32, target: u32) -> u32 {
    (0..32)
        .find(|k| u64::from(block) << k >= u64::from(target))
        .unwrap_or(32)
}

/// One direction of an evenly divided frame: the number of tiles, and its coded logarithm.
fn read_even(bits: &mut ObuBits<'_>, length: u32, least: u32) -> Result<(u32, u32), UnitError> {
    let most = log2_of(1, length.min(MOST));
    let mut log2 = least;
    while log2 < most && bits.flag()? {
        log2 += 1;
    }
    let tile = length.div_ceil(1 << log2).max(1);
    Ok((length.div_ceil(tile), log2))
}

/// One direction of a frame that is divided as it says: tiles, and the largest.
fn read_uneven(bits: &mut ObuBits<'_>, length: u32, most: u32) -> Result<(u32, u32), UnitError> {
    let (mut count, mut largest, mut start) = (0, 0, 0);
    while start < length {
        let size = bits.ns((length - start).min(most).max(1))? + 1;
        count += 1;
        largest = largest.max(size);
        start += size;
        if count > MOST {
            return Err(UnitError::Range {
                field: "TileCols or TileRows",
            });
        }
    }
    Ok((count, largest))
}

/// `tile_info`, of a frame of that many pixels.
pub(super) fn read_tiles(
    bits: &mut ObuBits<'_>,
    (width, height): (u32, u32),
    large_superblocks: bool,
) -> Result<Tiles, UnitError> {
    let size_log2 = if large_superblocks { 7 } else { 6 };
    // A frame counts in pairs of blocks of four pixels.
    let superblocks = |pixels: u32| pixels.div_ceil(8).saturating_mul(8).div_ceil(1 << size_log2);
    let (columns, rows) = (superblocks(width), superblocks(height));
    let widest = WIDEST >> size_log2;
    let area = columns.saturating_mul(rows);
    let least_columns_log2 = log2_of(widest, columns);
    let least_log2 = least_columns_log2.max(log2_of(LARGEST >> (2 * size_log2), area));
    let (tile_columns, columns_log2, tile_rows, rows_log2);
    if bits.flag()? {
        (tile_columns, columns_log2) = read_even(bits, columns, least_columns_log2)?;
        (tile_rows, rows_log2) = read_even(bits, rows, least_log2.saturating_sub(columns_log2))?;
    } else {
        let largest;
        (tile_columns, largest) = read_uneven(bits, columns, widest)?;
        columns_log2 = log2_of(1, tile_columns);
        let area = if least_log2 > 0 {
            area >> (least_log2 + 1)
        } else {
            area
        };
        let highest = (area / largest.max(1)).max(1);
        (tile_rows, _) = read_uneven(bits, rows, highest)?;
        rows_log2 = log2_of(1, tile_rows);
    }
    let number_bits = columns_log2 + rows_log2;
    let mut size_bytes = 4;
    if number_bits > 0 {
        // context_update_tile_id
        bits.skip(number_bits)?;
        size_bytes = bits.bits(2)? as usize + 1;
    }
    Ok(Tiles {
        count: tile_columns * tile_rows,
        number_bits,
        size_bytes,
    })
}

impl Tiles {
    /// `tile_group_obu`: where the tiles lie in these bytes, and whether the last one is the frame's last.
    pub(in crate::encryption::av1) fn of_group(
        &self,
        group: &[u8],
    ) -> Result<(Vec<Range<usize>>, bool), UnitError> {
        let mut bits = ObuBits::new(group);
        let (mut first, mut last) = (0, self.count.saturating_sub(1));
        if self.count > 1 && bits.flag()? {
            first = bits.bits(self.number_bits)?;
            last = bits.bits(self.number_bits)?;
        }
        if first > last || last >= self.count {
            return Err(UnitError::Range {
                field: "tg_start or tg_end",
            });
        }
        let mut at = bits.bytes_read();
        let mut tiles = Vec::new();
        for _ in first..last {
            let size = group.get(at..at + self.size_bytes).ok_or(UnitError::Truncated)?;
            let size = size
                .iter()
                .rev()
                .fold(0, |size, byte| size << 8 | u64::from(*byte))
                + 1;
            at += self.size_bytes;
            // Four bytes at most.
            let end = at + size as usize;
            if end > group.len() {
                let room = group.len() - at;
                return Err(UnitError::Length {
                    length: size,
                    room: room as u64,
                });
            }
            tiles.push(at..end);
            at = end;
        }
        tiles.push(at..group.len());
        Ok((tiles, last + 1 == self.count))
    }
}
