//! Pieces of paths and queries: which are values, and how they are encoded.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::secrets::{is_secret, is_token_like, looks_secret};

/// Characters that are encoded in the fixed part of a path: all but those that RFC 3986, section 3.3,
/// allows in a segment.
const FIXED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';')
    .remove(b':')
    .remove(b'@');

/// Returns a piece without percent-encoding, unless it is no UTF-8.
pub(super) fn decoded(piece: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(piece).decode_utf8().ok()
}

/// Returns a name or a value of a query without its encoding, in which `+` is a space.
pub(super) fn decoded_query(piece: &str) -> Option<Cow<'_, str>> {
    if !piece.contains('+') {
        return decoded(piece);
    }
    let spaced = piece.replace('+', " ");
    Some(Cow::Owned(decoded(&spaced)?.into_owned()))
}

/// Encodes a piece that is fixed.
pub(super) fn encoded(piece: &str) -> String {
    utf8_percent_encode(piece, FIXED).to_string()
}

/// Whether a segment is a value by its form: an integer, a UUID, a date, a hash or a token.
pub(super) fn is_value(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let all = |allowed: fn(&u8) -> bool| !bytes.is_empty() && bytes.iter().all(allowed);
    let is_number = digits > 0
        && all(|byte| byte.is_ascii_digit() || b"-.".contains(byte))
        // A version, such as `1.2`, names an interface.
        && !(segment.contains('.') && bytes.len() < 8);
    let is_hex =
        bytes.len() >= 16 && digits > 0 && all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    is_number || is_hex || is_token(segment, digits)
}

/// Whether a text looks random, such as base64: long, with digits between letters in both cases, or with
/// many digits.
fn is_token(text: &str, digits: usize) -> bool {
    let bytes = text.as_bytes();
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_=.+".contains(byte);
    let number = |is: fn(&u8) -> bool| bytes.iter().filter(|byte| is(byte)).count();
    let [upper, lower] = [number(u8::is_ascii_uppercase), number(u8::is_ascii_lowercase)];
    let separators = number(|byte| b"-_.".contains(byte));
    // A name of several words has few capitals: `HowToInstallPython3`.
    let is_mixed =
        upper > 0 && lower > 0 && (digits > 1 || (digits == 1 && upper * 4 > bytes.len()));
    let is_dense = digits * 4 >= bytes.len();
    let is_one_word = separators * 8 <= bytes.len();
    bytes.len() >= 16 && is_one_word && (is_mixed || is_dense) && bytes.iter().all(allowed)
}

/// Whether a value must not be written into a file, because of its name or of its form.
pub(super) fn holds_secret(name: &str, value: &str) -> bool {
    // Keys and signatures of cloud services, and addresses of people.
    const NAMES: [&str; 5] = ["key", "hmac", "email", "mail", "phone"];
    // Values that a login passes on (RFC 6749, sections 4.1.2 and 10.12). A short `code` may be that of a country.
    const OF_LOGINS: [&str; 4] = ["code", "state", "nonce", "ticket"];
    let plain = name.to_ascii_lowercase();
    // Session of a Java server, in a path: `cart;jsessionid=1F2A`; or the query of a URL in a query.
    let pairs = value.split([';', '?', '&', '#']);
    let has_pair = pairs.filter_map(|it| it.split_once('=')).any(|(name, _)| is_secret(name));
    is_secret(name)
        || has_pair
        || NAMES.contains(&plain.as_str())
        || (OF_LOGINS.contains(&plain.as_str()) && is_token_like(value))
        || looks_secret(name)
        || looks_secret(value)
        || is_address(value)
}

/// Whether a value after this segment may be a secret, such as that of a mail which resets a password.
pub(super) fn precedes_secret(segment: &str) -> bool {
    const PARTS: [&str; 8] =
        ["reset", "verif", "confirm", "activat", "invit", "unsubscribe", "magic", "share"];
    let plain = segment.to_ascii_lowercase();
    is_secret(segment) || PARTS.iter().any(|part| plain.contains(part))
}

/// Whether a value looks like an address for mails.
fn is_address(value: &str) -> bool {
    let is_domain = |name: &str| name.len() > 1 && name.bytes().all(|b| b.is_ascii_alphabetic());
    value.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && host.rsplit_once('.').is_some_and(|(_, last)| is_domain(last))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_known_by_their_form() {
        for value in [
            "1",
            "-7",
            "2026-11-28",
            "550e8400-e29b-41d4-a716-446655440000",
            "d41d8cd98f00b204e9800998ecf8427e",
            "dGhpcyBpcyBhIHRva2Vu",
            "V1StGXR8Z5jdHi6B",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "1795849175.349",
        ] {
            assert!(is_value(value), "{value}");
        }
        for name in [
            "",
            "products",
            "v1",
            "1.2",
            "page-2",
            "-",
            ".",
            "getUserById",
            "oauth2",
            "deadbeef",
            "internationalization",
            "a-long-name-of-a-product-2",
            "HowToInstallPython3",
        ] {
            assert!(!is_value(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_known_by_name_and_form() {
        for (name, value) in [
            ("access_token", "a"),
            ("X-Amz-Signature", "a"),
            ("key", "a"),
            ("q", "eyJh.eyJz.c"),
            ("", "cart;v=1;jsessionid=1F2A"),
            ("q", "a@b.co"),
            ("PHPSESSID", "a"),
            ("sid", "a"),
            ("auth_key", "a"),
            ("code", "4/0AbCdEfGhIjKlMnOpQrStUvWxYz012345678"),
            ("code", "SplxlOBeZQQYbYS6WxSbIA"),
            ("next", "/r?token=abc"),
            ("next", "/r#access_token=abc"),
            ("q", "token=abc"),
            ("eyJh.eyJz.c", ""),
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("", "d41d8cd98f00b204e9800998ecf8427e.pdf"),
        ] {
            assert!(holds_secret(name, value), "{name} {value}");
        }
        for (name, value) in [
            ("q", "eye"),
            ("page", "1"),
            ("keyword", "a"),
            ("q", "@b"),
            ("q", "a@1.2.3"),
            ("code", "de"),
            ("", "550e8400-e29b-41d4-a716-446655440000"),
        ] {
            assert!(!holds_secret(name, value), "{name} {value}");
        }
    }

    #[test]
    fn fixed_pieces_have_no_placeholders() {
        assert_eq!(
            encoded("a b{{ uuid }}#é/?&=@"),
            "a%20b%7B%7B%20uuid%20%7D%7D%23%C3%A9%2F%3F%26%3D@"
        );
        assert_eq!(decoded_query("a+b%2Bc").as_deref(), Some("a b+c"));
        assert_eq!(decoded("%ff"), None);
    }
}
