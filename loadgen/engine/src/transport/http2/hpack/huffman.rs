//! The code of HPACK's strings (RFC 7541, section 5.2 and appendix B).
//!
//! The code is canonical: codes of the same length are consecutive numbers, in the order of their bytes,
//! and follow on those of shorter codes. So the lengths determine it.

/// Length of each byte's code, in bits.
#[rustfmt::skip]
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15,
    6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22,
    20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23,
    23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22,
    22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26,
    27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27,
    26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

/// Length of the longest code, in bits.
const LONGEST: usize = 30;

/// Length of the codes that are looked up at once, in bits.
const SHORT: usize = 8;

static CODE: Code = Code::new();

/// The code in the forms that encoding and decoding need.
struct Code {
    /// The code of each byte, in its last bits.
    codes: [u32; 256],
    /// Byte and length of the code with which these eight bits begin; the length 0 for a longer code.
    short: [(u8, u8); 1 << SHORT],
    /// For each length: the first code, the number of codes, and the position of the first one's byte.
    lengths: [(u32, u32, usize); LONGEST + 1],
    /// All bytes, in the order of their codes.
    bytes: [u8; 256],
}

impl Code {
    const fn new() -> Self {
        let mut all = Self {
            codes: [0; 256],
            short: [(0, 0); 1 << SHORT],
            lengths: [(0, 0, 0); LONGEST + 1],
            bytes: [0; 256],
        };
        let (mut code, mut position, mut length) = (0, 0, 1);
        while length <= LONGEST {
            code <<= 1;
            all.lengths[length] = (code, 0, position);
            let mut byte = 0;
            while byte < 256 {
                if LENGTHS[byte] as usize == length {
                    all.codes[byte] = code;
                    all.bytes[position] = byte as u8;
                    all.lengths[length].1 += 1;
                    if length <= SHORT {
                        let (first, after) =
                            (code << (SHORT - length), (code + 1) << (SHORT - length));
                        let mut bits = first;
                        while bits < after {
                            all.short[bits as usize] = (byte as u8, length as u8);
                            bits += 1;
                        }
                    }
                    position += 1;
                    code += 1;
                }
                byte += 1;
            }
            length += 1;
        }
        all
    }

    /// Returns byte and length of the code with which `bits` begin; `None` for the end of a string, which
    /// no string contains.
    fn first(&self, bits: u64) -> Option<(u8, u32)> {
        let (byte, length) = self.short[(bits >> (64 - SHORT)) as usize];
        if length > 0 {
            return Some((byte, length.into()));
        }
        (SHORT + 1..=LONGEST).find_map(|length| {
            let (first, count, position) = self.lengths[length];
            let nth = ((bits >> (64 - length)) as u32).checked_sub(first)?;
            (nth < count).then(|| (self.bytes[position + nth as usize], length as u32))
        })
    }
}

/// Returns the number of bytes that the encoded text has.
pub(super) fn encoded_length(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends the encoded text.
pub(super) fn encode(text: &[u8], to: &mut Vec<u8>) {
    let (mut bits, mut count) = (0_u64, 0);
    for byte in text {
        let length = u32::from(LENGTHS[usize::from(*byte)]);
        bits = bits << length | u64::from(CODE.codes[usize::from(*byte)]);
        count += length;
        while count >= 8 {
            count -= 8;
            to.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        // The rest of the last byte begins like the code for the end of a string.
        to.push((bits << (8 - count)) as u8 | (0xff >> count));
    }
}

/// Appends the text that `from` encodes. Returns `None` if it encodes none.
pub(super) fn decode(mut from: &[u8], to: &mut Vec<u8>) -> Option<()> {
    // The next bits, from the first bit of the number on, and how many there are.
    let (mut bits, mut count) = (0_u64, 0);
    loop {
        if count < LONGEST as u32 {
            if let Some((chunk, rest)) = from.split_first_chunk::<4>() {
                bits |= u64::from(u32::from_be_bytes(*chunk)) << (32 - count);
                (count, from) = (count + 32, rest);
            } else {
                for byte in from {
                    bits |= u64::from(*byte) << (56 - count);
                    count += 8;
                }
                from = &[];
            }
        }
        match CODE.first(bits) {
            Some((byte, length)) if length <= count => {
                to.push(byte);
                bits <<= length;
                count -= length;
            }
            // What is left begins like the code for the end of a string, and is shorter than a byte.
            _ => return (count < 8 && bits.leading_ones() >= count).then_some(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(text: &[u8]) -> Vec<u8> {
        let mut encoded = Vec::new();
        encode(text, &mut encoded);
        assert_eq!(encoded.len(), encoded_length(text));
        encoded
    }

    fn decoded(from: &[u8]) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        decode(from, &mut text).map(|()| text)
    }

    /// From appendix C.4 and C.6 of the RFC.
    #[test]
    fn the_examples_of_the_rfc_are_encoded_and_decoded() {
        for (text, expected) in [
            ("www.example.com", &b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"[..]),
            ("no-cache", b"\xa8\xeb\x10\x64\x9c\xbf"),
            ("302", b"\x64\x02"),
            (
                "Mon, 21 Oct 2013 20:13:21 GMT",
                b"\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff",
            ),
        ] {
            assert_eq!(encoded(text.as_bytes()), expected);
            assert_eq!(decoded(expected), Some(text.into()));
        }
    }

    /// From appendix B of the RFC: one code of each length from 19 bits on, and the longest.
    #[test]
    fn the_codes_are_those_of_the_rfc() {
        for (byte, code) in [
            (b'\\', 0x7_fff0),
            (128, 0xf_ffe6),
            (153, 0x1f_ffdc),
            (129, 0x3f_ffd2),
            (1, 0x7f_ffd8),
            (9, 0xff_ffea),
            (199, 0x1ff_ffec),
            (192, 0x3ff_ffe0),
            (203, 0x7ff_ffde),
            (2, 0xfff_ffe2),
            (22, 0x3fff_fffe),
        ] {
            assert_eq!(CODE.codes[usize::from(byte)], code, "{byte}");
        }
    }

    #[test]
    fn what_encodes_no_text_is_refused() {
        // A byte of padding, padding of zeros, and the code for the end of a string.
        for wrong in [&[0xff][..], &[0x07, 0xff], &[0x00], &[0xff, 0xff, 0xff, 0xfc], &[0xff; 4]] {
            assert_eq!(decoded(wrong), None, "{wrong:x?}");
        }
        assert_eq!(decoded(&[]), Some(vec![]));
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in any::<Vec<u8>>()) {
            prop_assert_eq!(decoded(&encoded(&text)), Some(text));
        }

        /// No two encodings have the same text.
        #[test]
        fn what_is_decoded_was_encoded(bytes in any::<Vec<u8>>()) {
            if let Some(text) = decoded(&bytes) {
                prop_assert_eq!(encoded(&text), bytes);
            }
        }
    }
}
