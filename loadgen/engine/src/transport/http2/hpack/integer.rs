//! Integers that begin in the last bits of a byte (RFC 7541, section 5.1).

/// Largest integer that is read. Nothing that HPACK counts can be larger than a header section.
const LARGEST: usize = 1 << 28;

/// Appends an integer, the first bits of which share a byte with `flags`: the last `bits` bits of it.
pub(super) fn write(value: usize, bits: u32, flags: u8, to: &mut Vec<u8>) {
    let most = (1_usize << bits) - 1;
    let Some(mut rest) = value.checked_sub(most) else {
        // Smaller than 2^bits, and so than a byte.
        return to.push(flags | value as u8);
    };
    to.push(flags | most as u8);
    while rest >= 0x80 {
        to.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    to.push(rest as u8);
}

/// Reads an integer that begins in the last `bits` bits of the first byte, and removes it from `from`.
/// Returns `None` for an incomplete integer and for one that is too large.
pub(super) fn read(bits: u32, from: &mut &[u8]) -> Option<usize> {
    let (first, mut rest) = from.split_first()?;
    let most = (1_usize << bits) - 1;
    let mut value = usize::from(*first) & most;
    if value == most {
        let mut shift = 0;
        loop {
            let (next, after) = rest.split_first()?;
            rest = after;
            value += usize::from(next & 0x7f) << shift;
            if value > LARGEST {
                return None;
            }
            if next & 0x80 == 0 {
                break;
            }
            shift += 7;
            // Four more bytes hold every integer up to the largest.
            if shift > 21 {
                return None;
            }
        }
    }
    *from = rest;
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_rfc_are_written_and_read() {
        for (value, bits, flags, expected) in
            [(10, 5, 0xe0, &[0xea][..]), (1_337, 5, 0, &[0x1f, 0x9a, 0x0a]), (42, 8, 0, &[42])]
        {
            let mut written = Vec::new();
            write(value, bits, flags, &mut written);
            assert_eq!(written, expected);
            assert_eq!(read(bits, &mut &written[..]), Some(value));
        }
    }

    #[test]
    fn what_is_too_large_or_cut_off_is_refused() {
        for bytes in [&[][..], &[0x1f], &[0x1f, 0x80], &[0x1f, 0xff, 0xff, 0xff, 0xff, 0x7f]] {
            let mut from = bytes;
            assert_eq!((read(5, &mut from), from), (None, bytes));
        }
        let zeros = [&[0xff][..], &[0x80; 100], &[0]].concat();
        assert_eq!(read(7, &mut &zeros[..]), None, "zeros without an end");
    }

    proptest! {
        #[test]
        fn every_integer_comes_back(value in 0..=LARGEST, bits in 1_u32..=8, more in any::<u8>()) {
            let mut bytes = Vec::new();
            write(value, bits, 0, &mut bytes);
            bytes.push(more);
            let mut from = &bytes[..];
            prop_assert_eq!(read(bits, &mut from), Some(value));
            prop_assert_eq!(from, &[more]);
        }
    }
}
