//! Lines of text that have the request in quotes, and its status after it.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memmem};

use super::logged::{Format, Logged, Method};
use super::time;

/// Reads a line. The request ends at a quotation mark that a status follows, as some servers write
/// quotation marks within a request unescaped.
pub(super) fn read(line: &[u8]) -> Option<(Format, Logged<'_>)> {
    let open = memchr(b'"', line)?;
    let (close, status) = memchr_iter(b'"', &line[open + 1..])
        .find_map(|at| Some((open + 1 + at, status(&line[open + 2 + at..])?)))?;
    let (before, request, after) = (&line[..open], &line[open + 1..close], &line[close + 1..]);
    let bracketed = memchr_iter(b'[', before)
        .find_map(|at| Some((time::of_server(&before[at + 1..])?, person(&before[..at]))));
    let time = bracketed.map(|(time, _)| time).or_else(|| time::find_iso(before));
    let person = bracketed.and_then(|(_, person)| person).map(Cow::Borrowed);
    let (method, target, protocol) = match split(request) {
        Some(parts) => parts,
        // Bytes of TLS, or nothing: a server has a line for each connection, with an error.
        None if bracketed.is_some() && status >= 400 => (Method::Other, &b""[..], &b"HTTP/"[..]),
        None => return None,
    };
    let format = match bracketed {
        Some(_) if !protocol.is_empty() && !protocol.starts_with(b"HTTP/") => Format::Hypercorn,
        Some(_) if memchr(b'"', after).is_some() => Format::Combined,
        Some(_) => Format::Common,
        None if is_granian(before) => Format::Granian,
        None => Format::Uvicorn,
    };
    Some((format, Logged { method, target: Cow::Borrowed(target), status, time, person }))
}

/// Returns the name at the end of `127.0.0.1 - ann `, the fields before the time.
fn person(before: &[u8]) -> Option<&[u8]> {
    let mut fields = before.trim_ascii_end().rsplit(u8::is_ascii_whitespace);
    let (name, _ident, _host) = (fields.next()?, fields.next()?, fields.next()?);
    (name != b"-" && !name.is_empty()).then_some(name)
}

/// Splits a request line into its method, its target and its protocol, which HTTP/0.9 lacks.
pub(super) fn split(request: &[u8]) -> Option<(Method, &[u8], &[u8])> {
    let space = memchr(b' ', request)?;
    let (method, rest) = (&request[..space], &request[space + 1..]);
    let is_method =
        !method.is_empty() && method.iter().all(|b| b.is_ascii_uppercase() || *b == b'-');
    let (target, protocol) = match memchr::memrchr(b' ', rest) {
        Some(space) if is_protocol(&rest[space + 1..]) => (&rest[..space], &rest[space + 1..]),
        _ if rest.starts_with(b"/") => (rest, &b""[..]),
        _ => return None,
    };
    (is_method && !target.is_empty()).then(|| (Method::of(method), target, protocol))
}

/// Whether a text is a protocol: `HTTP/1.1`, or hypercorn's `1.1`.
fn is_protocol(text: &[u8]) -> bool {
    let version = text.strip_prefix(b"HTTP/").unwrap_or(text);
    matches!(version, [b'0'..=b'3'] | [b'0'..=b'3', b'.', b'0'..=b'9'])
}

/// Returns the status of ` 200 …`.
fn status(after: &[u8]) -> Option<u16> {
    let [b' ', digits @ ..] = after.get(..4)? else { return None };
    let ends = after.get(4).is_none_or(|byte| byte.is_ascii_whitespace());
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (ends && digits.iter().all(u8::is_ascii_digit)).then_some(number)
}

/// Whether a line begins like `[2026-11-28 06:59:35 +0000] 127.0.0.1 - `.
fn is_granian(before: &[u8]) -> bool {
    let at = memchr(b'[', before).map(|at| &before[at + 1..]);
    at.is_some_and(|rest| time::of_iso(rest).is_some()) && before.ends_with(b" - ")
}

/// Returns a target without the escapes of servers: `\x22`, `\"`, `\\`.
pub(super) fn unescape(target: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\\', target).is_none() {
        return Cow::Borrowed(target);
    }
    let mut out = Vec::with_capacity(target.len());
    let mut rest = target;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match after {
            [b'x' | b'X', high, low, after @ ..] if byte == b'\\' => {
                let digits = (char::from(*high).to_digit(16), char::from(*low).to_digit(16));
                if let (Some(high), Some(low)) = digits {
                    out.push((high * 16 + low) as u8);
                    rest = after;
                    continue;
                }
            }
            [escaped @ (b'"' | b'\\'), after @ ..] if byte == b'\\' => {
                out.push(*escaped);
                rest = after;
                continue;
            }
            _ => {}
        }
        out.push(byte);
    }
    Cow::Owned(out)
}

/// Returns a line without the colors with which some servers write to a terminal.
pub(super) fn without_colors(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr(0x1b, line).is_none() {
        return Cow::Borrowed(line);
    }
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = memmem::find(rest, b"\x1b[") {
        out.extend_from_slice(&rest[..at]);
        let after = &rest[at + 2..];
        let end = after.iter().position(|byte| !byte.is_ascii_digit() && *byte != b';');
        rest = end.map_or(&b""[..], |end| &after[end + 1..]);
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}
