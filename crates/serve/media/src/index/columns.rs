//! Packed columns: up to 128 whole numbers kept in as many bits as most of them need above their smallest, and the few
//! that need more (a sync sample among small ones, the gap between two chunks) as exceptions. It must not know what the
//! numbers mean.
//!
//! A column in bytes: the bits of a value (0 to 64), with the top bit set if more follows about them; the smallest
//! value as a zigzag varint. What may follow: the number of exceptions, and what all values were divided by, as a
//! varint; where there are exceptions, the bits that they have above the others, their places (a byte each) and those
//! bits. Then the low bits of all values. Bits fill bytes from the lowest one, and each of the two groups begins a new
//! byte.

/// Values in a column, at most.
pub(super) const BLOCK: usize = 128;

/// Flag of a column with more than a width and a minimum.
const EXTENDED: u8 = 0x80;

/// Appends a column of these values, of which there are at most [`BLOCK`].
pub(super) fn pack(values: &[i64], into: &mut Vec<u8>) {
    let smallest = values.iter().copied().min().unwrap_or(0);
    // As most columns are, of durations and flags.
    if values.iter().all(|value| *value == smallest) {
        into.push(0);
        write_varint(zigzag(smallest), into);
        return;
    }
    // Differences of 64-bit numbers need 64 bits without a sign, and wrapping gives just those.
    let mut above: Vec<u64> = values
        .iter()
        .map(|value| value.wrapping_sub(smallest).cast_unsigned())
        .collect();
    // Composition offsets are multiples of the duration of a frame.
    let divisor = common_divisor_of(&above);
    if divisor > 1 {
        for value in &mut above {
            *value /= divisor;
        }
    }
    let most = above.iter().copied().map(bits).max().unwrap_or(0);
    let low = cheapest_width(&above, most);
    let exceptions: Vec<usize> = (0..above.len())
        .filter(|place| bits(above[*place]) > low)
        .collect();
    if exceptions.is_empty() && divisor == 1 {
        into.push(low as u8);
        write_varint(zigzag(smallest), into);
    } else {
        into.push(low as u8 | EXTENDED);
        write_varint(zigzag(smallest), into);
        into.push(exceptions.len() as u8);
        write_varint(divisor, into);
    }
    if !exceptions.is_empty() {
        into.push((most - low) as u8);
        into.extend(exceptions.iter().map(|place| *place as u8));
        write_bits(
            exceptions.iter().map(|place| above[*place] >> low),
            most - low,
            into,
        );
    }
    write_bits(above.iter().copied(), low, into);
}

/// Takes a column off the front of `bytes` into the front of `values`, as many as there is room for. None if `bytes` is
/// no such column.
pub(super) fn unpack(bytes: &mut &[u8], values: &mut [i64]) -> Option<()> {
    let first = take_byte(bytes)?;
    let low = u32::from(first & !EXTENDED);
    let smallest = unzigzag(read_varint(bytes)?);
    let (mut exceptions, mut divisor) = (0, 1);
    if first & EXTENDED != 0 {
        exceptions = usize::from(take_byte(bytes)?);
        divisor = read_varint(bytes)?;
    }
    if low > 64 || exceptions > values.len() {
        return None;
    }
    let mut high: &[u8] = &[];
    let mut places: &[u8] = &[];
    let mut high_width = 0;
    if exceptions > 0 {
        high_width = u32::from(take_byte(bytes)?);
        if high_width == 0 || low + high_width > 64 {
            return None;
        }
        places = take(bytes, exceptions)?;
        high = take(bytes, packed_bytes(exceptions, high_width))?;
    }
    let packed = take(bytes, packed_bytes(values.len(), low))?;
    let value_of = |above: u64| above.wrapping_mul(divisor).cast_signed();
    if low == 0 {
        values.fill(smallest);
    } else {
        for (place, value) in values.iter_mut().enumerate() {
            *value = smallest.wrapping_add(value_of(read_bits(packed, place, low)));
        }
    }
    for (number, place) in places.iter().enumerate() {
        let more = read_bits(high, number, high_width) << low;
        let value = values.get_mut(usize::from(*place))?;
        *value = value.wrapping_add(value_of(more));
    }
    Some(())
}

/// The greatest number that divides all, of which not all are zero.
fn common_divisor_of(values: &[u64]) -> u64 {
    let mut divisor = 0;
    for value in values {
        divisor = common_divisor(divisor, *value);
        if divisor == 1 {
            break;
        }
    }
    divisor
}

/// The greatest number that divides both; the other one if one is zero.
fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Bits that a value takes.
fn bits(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// The width at which low bits and exceptions together are shortest.
fn cheapest_width(above: &[u64], most: u32) -> u32 {
    let mut of_width = [0_u32; 65];
    for value in above {
        of_width[bits(*value) as usize] += 1;
    }
    let mut best = (u64::MAX, most);
    let mut exceptions = 0_u32;
    // From the widest down, so that the count of values above a width grows as it goes.
    for low in (0..=most).rev() {
        let mut cost = u64::from(low) * above.len() as u64;
        if exceptions > 0 {
            // Their number, the divisor and their width.
            cost += 24 + u64::from(exceptions) * u64::from(8 + most - low);
        }
        if cost < best.0 {
            best = (cost, low);
        }
        exceptions += of_width[low as usize];
    }
    best.1
}

fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

fn write_bits(values: impl Iterator<Item = u64>, width: u32, into: &mut Vec<u8>) {
    let mut pending = 0_u128;
    let mut filled = 0;
    for value in values {
        let kept = u128::from(value) & ((1 << width) - 1);
        pending |= kept << filled;
        filled += width;
        if filled >= 64 {
            into.extend_from_slice(&(pending as u64).to_le_bytes());
            pending >>= 64;
            filled -= 64;
        }
    }
    let rest = (pending as u64).to_le_bytes();
    into.extend(rest.iter().take(filled.div_ceil(8) as usize));
}

/// The value of this number among those of this width, which is at most 64 and above 0.
fn read_bits(packed: &[u8], number: usize, width: u32) -> u64 {
    let first = number * width as usize;
    let from = packed.get(first / 8..).unwrap_or_default();
    let shift = (first % 8) as u32;
    if let Some(word) = from.first_chunk::<8>().filter(|_| shift + width <= 64) {
        return (u64::from_le_bytes(*word) >> shift) & (u64::MAX >> (64 - width));
    }
    let mut word = [0; 16];
    for (place, byte) in word.iter_mut().zip(from) {
        *place = *byte;
    }
    (u128::from_le_bytes(word) >> shift) as u64 & (u64::MAX >> (64 - width))
}

/// Small numbers of either sign as small numbers without one.
pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

/// What [`zigzag`] was given.
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// Seven bits a byte, lowest first, the top bit set in all bytes but the last.
pub(super) fn write_varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// What [`write_varint`] wrote; none where it is cut off or longer than 64 bits.
pub(super) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(bytes)?;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            return None;
        }
        value |= part << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

/// Takes `count` bytes off the front.
pub(super) fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn there_and_back(values: &[i64]) -> usize {
        let mut packed = Vec::new();
        pack(values, &mut packed);
        let length = packed.len();
        packed.extend([0xa5; 3]);
        let mut rest = &packed[..];
        let mut read = vec![7; values.len()];
        assert_eq!(unpack(&mut rest, &mut read), Some(()));
        assert_eq!(read, values);
        assert_eq!(rest, [0xa5; 3]);
        length
    }

    #[test]
    fn columns_are_as_short_as_their_layout_says() {
        // Width and smallest: nothing else is needed where all are the same.
        assert_eq!(there_and_back(&[512; 128]), 1 + 2);
        // 128 values of 4 bits.
        let small: Vec<i64> = (0..128).map(|place| 3 + place % 16).collect();
        assert_eq!(there_and_back(&small), 2 + 64);
        // The same with one that takes 20 bits: how many such there are, that nothing is divided, its place, its 16
        // bits above the others, and how many those are.
        let mut one_large = small.clone();
        one_large[77] = 3 + 0xf_ffff;
        assert_eq!(there_and_back(&one_large), 2 + 64 + 2 + 1 + 1 + 2);
        // Multiples of 512, of which the largest is 5: 3 bits each.
        let multiples: Vec<i64> = (0..128).map(|place| [0, 1024, 2560][place % 3] - 512).collect();
        // The width, -512, no exceptions, 512.
        assert_eq!(there_and_back(&multiples), 1 + 2 + 1 + 2 + 48);
        // Two sync samples among 128: their places and a bit each.
        let mut sync = [0; 128];
        sync[0] = 1;
        sync[100] = 1;
        assert_eq!(there_and_back(&sync), 2 + 2 + 1 + 2 + 1);
        // Differences of 64 bits; three exceptions are shorter than four values.
        assert_eq!(
            there_and_back(&[i64::MIN, i64::MAX, 0, -1]),
            1 + 10 + 2 + 1 + 3 + 24
        );
        assert_eq!(there_and_back(&[]), 2);
    }

    proptest! {
        #[test]
        fn any_values_come_back(values in prop::collection::vec(
            prop_oneof![any::<i64>(), -5..40_i64, 0..100_000_i64], 1..=BLOCK)) {
            there_and_back(&values);
        }
    }
}
