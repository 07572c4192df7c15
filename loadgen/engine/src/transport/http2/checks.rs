//! Checks the fields of a response (RFC 9113, sections 8.2 and 8.3.2).

use crate::transport::content_length::ContentLength;
use crate::transport::fields::Fields;

/// Reason why a header section is malformed, in words.
pub(super) type Wrong = &'static str;

/// Fields of a connection, which HTTP/2 does not have.
const OF_CONNECTIONS: [&[u8]; 5] =
    [b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];

/// Returns the status of a response with these fields.
pub(super) fn status(fields: &Fields) -> Result<u16, Wrong> {
    let mut fields = fields.iter();
    let status = match fields.next() {
        Some((b":status", [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'])) => {
            [a, b, c].into_iter().fold(0, |sum, digit| 10 * sum + u16::from(digit - b'0'))
        }
        Some((b":status", _)) => return Err("the status is not a number of three digits"),
        _ => return Err("the response does not begin with its status"),
    };
    // Used to switch to another protocol (RFC 9113, section 8.6).
    if status == 101 {
        return Err("HTTP/2 has no status 101");
    }
    fields.try_for_each(|(name, value)| check(name, value))?;
    Ok(status)
}

/// Checks the fields that come after a body.
pub(super) fn check_trailers(fields: &Fields) -> Result<(), Wrong> {
    fields.iter().try_for_each(|(name, value)| check(name, value))
}

/// Returns the length of the body that the fields announce.
pub(super) fn content_length(fields: &Fields) -> ContentLength {
    let mut length = ContentLength::default();
    let values = fields.iter().filter(|(name, _)| *name == b"content-length");
    values.for_each(|(_, value)| length.read(value));
    length
}

/// Checks a field other than the status.
fn check(name: &[u8], value: &[u8]) -> Result<(), Wrong> {
    if !name.iter().all(|byte| NAME[usize::from(*byte)]) || name.is_empty() {
        return Err(match name.first() {
            Some(b':') => "a pseudo-header field that no response has, or not at the beginning",
            _ if name.iter().any(u8::is_ascii_uppercase) => {
                "the name of a field has capital letters"
            }
            _ => "the name of a field is invalid",
        });
    }
    if value.iter().any(|byte| matches!(byte, 0..=8 | 10..=31 | 127)) {
        return Err("the value of a field has a control character");
    }
    if OF_CONNECTIONS.contains(&name) {
        return Err("a field of connections, which HTTP/2 does not have");
    }
    Ok(())
}

/// The bytes that the name of a field may have: those of a token (RFC 9110, section 5.6.2), except for
/// capital letters.
static NAME: [bool; 256] = {
    let mut all = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        all[byte] = matches!(
            byte as u8,
            b'a'..=b'z' | b'0'..=b'9' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.'
                | b'^' | b'_' | b'`' | b'|' | b'~'
        );
        byte += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(named: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::default();
        named.iter().for_each(|(name, value)| fields.push(name.as_bytes(), value.as_bytes()));
        fields
    }

    #[test]
    fn a_response_begins_with_its_status() {
        let of = |named: &[(&str, &str)]| status(&fields(named));
        assert_eq!(of(&[(":status", "200"), ("server", "x\ty\u{e9}"), ("x_y~", "")]), Ok(200));
        let none = Err("the response does not begin with its status");
        assert_eq!((of(&[]), of(&[("server", "x"), (":status", "200")])), (none, none));
        for wrong in ["", "20", "2000", "2x0", "020", "+20"] {
            assert_eq!(
                of(&[(":status", wrong)]),
                Err("the status is not a number of three digits")
            );
        }
        assert!(of(&[(":status", "101")]).is_err());
    }

    #[test]
    fn fields_that_http_2_forbids_are_found() {
        for (name, value) in [
            (":status", "200"),
            (":path", "/"),
            ("Server", "x"),
            ("a b", "x"),
            ("", "x"),
            ("a", "x\ny"),
            ("a", "x\0"),
            ("a", "\u{1b}[1m"),
            ("a", "\u{7f}"),
            ("connection", "close"),
            ("transfer-encoding", "chunked"),
        ] {
            let all = fields(&[(":status", "200"), (name, value)]);
            assert!(status(&all).is_err(), "{name}: {value}");
            assert!(
                check_trailers(&fields(&[("a", "1"), (name, value)])).is_err(),
                "{name}: {value}"
            );
        }
        assert_eq!(check_trailers(&fields(&[("a", "1")])), Ok(()));
    }
}
