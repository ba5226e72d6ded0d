//! The Huffman code of HPACK (RFC 7541, 5.2 and Appendix B). It is canonical: the lengths of its codes are all of it.

/// Bits of the code of each byte; the last is the end of a string, which no string may hold.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
/// Bits of the longest code.
const LONGEST: usize = 30;
const END_OF_STRING: u16 = 256;

/// The code, made for decoding: symbols in the order of their codes, and where those of each length begin.
struct Code {
    symbols: [u16; 257],
    /// For each length: its first code, and the place of that code's symbol.
    first: [(u32, u16); LONGEST + 2],
}

const CODE: Code = code();

const fn code() -> Code {
    let mut made = Code {
        symbols: [0; 257],
        first: [(0, 0); LONGEST + 2],
    };
    let (mut next, mut place, mut length) = (0, 0, 1);
    while length <= LONGEST {
        next <<= 1;
        made.first[length] = (next, place);
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                made.symbols[place as usize] = symbol as u16;
                place += 1;
                next += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    made.first[LONGEST + 1] = (next << 1, place);
    made
}

/// Decodes a string; none if it is not one: it holds the end of a string, or is not filled up as strings are.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    static DECODER: Code = CODE;
    let mut decoded = Vec::with_capacity(bytes.len() * 2);
    let (mut code, mut length) = (0_u32, 0_usize);
    for bit in bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |at| u32::from(byte >> at & 1)))
    {
        code = code << 1 | bit;
        length += 1;
        if length > LONGEST {
            return None;
        }
        let (first, place) = DECODER.first[length];
        let count = u32::from(DECODER.first[length + 1].1 - place);
        if code.wrapping_sub(first) < count {
            match DECODER.symbols[usize::from(place) + (code - first) as usize] {
                END_OF_STRING => return None,
                symbol => decoded.push(symbol as u8),
            }
            (code, length) = (0, 0);
        }
    }
    // What fills up the last byte is the beginning of the longest code: ones, fewer than eight.
    (length < 8 && code == (1 << length) - 1).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::{LENGTHS, decode};

    #[test]
    fn strings_of_the_rfc() {
        // RFC 7541, C.4.1, C.4.3 and C.6.3; C.6.1 is among the tests of whole blocks.
        let table: [(&[u8], &str); 3] = [
            (
                b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff",
                "www.example.com",
            ),
            (b"\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf", "custom-value"),
            (
                b"\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x84\xa6\x2d\x1b\xff",
                "Mon, 21 Oct 2013 20:13:22 GMT",
            ),
        ];
        for (bytes, text) in table {
            let decoded = decode(bytes).expect("a string");
            assert_eq!(String::from_utf8_lossy(&decoded), text);
        }
    }

    #[test]
    fn the_code_is_complete() {
        // Kraft's sum of a code that leaves nothing undefined.
        let sum: u64 = LENGTHS.iter().map(|length| 1_u64 << (30 - length)).sum();
        assert_eq!(sum, 1 << 30);
    }

    #[test]
    fn what_is_no_string_is_refused() {
        assert_eq!(decode(b""), Some(Vec::new()));
        // The end of a string; a byte of nothing but filling.
        assert_eq!(decode(b"\xff\xff\xff\xff"), None);
        assert_eq!(decode(b"\x64\x02\xff"), None);
        // 'a' (00011) and three zeros.
        assert_eq!(decode(b"\x18"), None);
        assert_eq!(decode(b"\x1f"), Some(b"a".to_vec()));
    }
}
