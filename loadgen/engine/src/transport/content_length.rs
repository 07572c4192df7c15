//! Reads the length of a body from the headers of its response.

/// Length of a body, as the headers of the response announce it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ContentLength {
    /// No header announces a length.
    #[default]
    Unknown,
    /// Number of bytes.
    Bytes(u64),
    /// Malformed or contradictory.
    Malformed,
}

impl ContentLength {
    /// Reads the value of one more `content-length` header. The same length may be given more than once
    /// (RFC 9110, section 8.6).
    pub(super) fn read(&mut self, value: &[u8]) {
        for part in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            *self = match (decimal(part), *self) {
                (Some(length), Self::Unknown) => Self::Bytes(length),
                (Some(length), Self::Bytes(before)) if length == before => Self::Bytes(length),
                _ => Self::Malformed,
            };
        }
    }
}

/// Parses a number that consists of digits alone, without sign or space (RFC 9110, section 8.6).
/// Returns `None` for any other text, and for a number beyond `u64`.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| match digit {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lengths_are_one_length() {
        let of = |values: &[&str]| {
            let mut length = ContentLength::default();
            values.iter().for_each(|value| length.read(value.as_bytes()));
            length
        };
        assert_eq!(of(&[]), ContentLength::Unknown);
        for values in [&["5"][..], &["5", "5"], &["5, 5", "5"], &["005"]] {
            assert_eq!(of(values), ContentLength::Bytes(5), "{values:?}");
        }
        for wrong in
            [&[""][..], &["x"], &["+5"], &["-1"], &["5", "6"], &["5, 6"], &["5,"], &["x", "5"]]
        {
            assert_eq!(of(wrong), ContentLength::Malformed, "{wrong:?}");
        }
        assert_eq!(of(&["99999999999999999999"]), ContentLength::Malformed);
    }
}
