//! Reads how a call ended, and the message that it brought.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::io::{self, Write};

use percent_encoding::percent_decode;
use prost_reflect::{DynamicMessage, MessageDescriptor, SerializeOptions};

use super::{Call, PREFIX};
use crate::content_encoding::Undecodable;
use loadgen_scenario::GrpcStatus;

/// Longest message that is decoded, in bytes: as long as gRPC libraries accept unless told otherwise.
const LONGEST: usize = 4 << 20;

/// Longest JSON form of a message, in bytes.
pub(super) const LONGEST_JSON: usize = 16 << 20;

/// Longest `grpc-message` that is kept, in bytes.
const LONGEST_TEXT: usize = 1 << 10;

/// JSON as k6 shows it: with the fields that have their default value, and with numbers of 64 bits
/// as numbers, so that counters can add them up.
const FORM: SerializeOptions =
    SerializeOptions::new().skip_default_fields(false).stringify_64_bit_integers(false);

/// The end of a call: its status, and its message, once something has asked for it.
#[derive(Debug)]
pub struct Reply<'a> {
    status: GrpcStatus,
    message: String,
    /// Type of the message; `None` without a message, because the call failed.
    kind: Option<&'a MessageDescriptor>,
    /// Whether the call brought a stream of messages.
    is_stream: bool,
    json: OnceCell<Result<Vec<u8>, Undecodable>>,
}

impl Call {
    /// Reads a response of HTTP status 200. `head` returns the values of its headers, and `end` those of its
    /// last header section. `kept` is at least the beginning of its body of `received` bytes. Returns a
    /// sentence if the response is not one to this call.
    pub fn reply<'h>(
        &self,
        head: impl Fn(&str) -> Option<&'h [u8]>,
        end: impl Fn(&str) -> Option<&'h [u8]>,
        kept: &[u8],
        received: u64,
    ) -> Result<Reply<'_>, String> {
        check_media_type(head("content-type").unwrap_or_default(), kept)?;
        let is_stream = self.answers_many;
        let Some(value) = end("grpc-status") else {
            return Err("the response has no grpc-status".to_owned());
        };
        let Some(status) = GrpcStatus::parse(value) else {
            let value = String::from_utf8_lossy(value);
            return Err(format!("the grpc-status is no number: {:?}", beginning(&value)));
        };
        let message = end("grpc-message").map_or_else(String::new, |value| {
            let text = percent_decode(value).decode_utf8_lossy();
            beginning(&text).to_owned()
        });
        let mut kind = None;
        if status == GrpcStatus::OK {
            // The messages of a stream are checked one by one as they come.
            if !is_stream {
                check_body(|| head("grpc-encoding"), kept, received)?;
            }
            kind = Some(&self.response);
        }
        Ok(Reply { status, message, kind, is_stream, json: OnceCell::new() })
    }
}

impl Call {
    /// Reads a response whose stream of messages loadgen ended before the server, which is a success without a
    /// status. Otherwise as [`Self::reply`].
    pub fn reply_so_far<'h>(
        &self,
        head: impl Fn(&str) -> Option<&'h [u8]>,
        kept: &[u8],
    ) -> Result<Reply<'_>, String> {
        check_media_type(head("content-type").unwrap_or_default(), kept)?;
        let (status, message, kind) = (GrpcStatus::OK, String::new(), Some(&self.response));
        let is_stream = self.answers_many;
        Ok(Reply { status, message, kind, is_stream, json: OnceCell::new() })
    }
}

impl Reply<'_> {
    /// Returns the status of the call.
    pub fn status(&self) -> GrpcStatus {
        self.status
    }

    /// Returns what the server says of the status; empty if it says nothing.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the JSON form of the message in `body`, or an array with those of a stream's messages. `body` must be
    /// the same in each call. Empty for a call that failed. Call only after the latency is measured.
    pub fn json(&self, body: &[u8]) -> Result<&[u8], Undecodable> {
        let read = if self.is_stream { json_of_all } else { json };
        let json = self.json.get_or_init(|| self.kind.map_or(Ok(Vec::new()), |it| read(it, body)));
        json.as_deref().map_err(Clone::clone)
    }
}

fn check_media_type(value: &[u8], body: &[u8]) -> Result<(), String> {
    let lower = value.to_ascii_lowercase();
    match lower.strip_prefix(b"application/grpc") {
        Some([] | [b'+' | b';' | b' ', ..]) => Ok(()),
        _ => {
            let value = String::from_utf8_lossy(value);
            let body = String::from_utf8_lossy(&body[..body.len().min(LONGEST_TEXT)]);
            let line: String =
                body.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect();
            Err(format!("the response is not gRPC: content-type {:?}: {line}", beginning(&value)))
        }
    }
}

/// Checks that a body has exactly one message, which is not compressed.
fn check_body<'h>(
    encoding: impl FnOnce() -> Option<&'h [u8]>,
    kept: &[u8],
    received: u64,
) -> Result<(), String> {
    let [flag, length @ ..] = match kept.first_chunk::<PREFIX>() {
        Some(prefix) => prefix,
        None if kept.is_empty() => {
            return Err("the response has no message, although its grpc-status is OK".to_owned());
        }
        None => return Err("the response ends in the prefix of its message".to_owned()),
    };
    match flag {
        0 => {}
        1 => {
            let encoding = String::from_utf8_lossy(encoding().unwrap_or_default());
            return Err(format!(
                "the message is compressed (grpc-encoding {:?}), but loadgen accepts no compression",
                beginning(&encoding)
            ));
        }
        flag => return Err(format!("the message begins with {flag}, which gRPC does not define")),
    }
    let length = u64::from(u32::from_be_bytes(*length));
    let came = received.saturating_sub(PREFIX as u64);
    match came.cmp(&length) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(format!("the message ends after {came} of {length} bytes")),
        Ordering::Greater => {
            let over = came - length;
            Err(format!("{over} bytes follow the message, but a unary call has only one message"))
        }
    }
}

/// Returns the length of the message that begins a body, as its prefix tells it; `None` without a whole prefix.
fn length(body: &[u8]) -> Option<usize> {
    let [_, length @ ..] = body.first_chunk::<PREFIX>()?;
    Some(usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX))
}

/// Returns an array with the JSON forms of the whole messages in a body.
fn json_of_all(kind: &MessageDescriptor, mut body: &[u8]) -> Result<Vec<u8>, Undecodable> {
    let mut all = vec![b'['];
    while let Some((message, rest)) =
        length(body).and_then(|length| body.split_at_checked(length.saturating_add(PREFIX)))
    {
        if all.len() > 1 {
            all.push(b',');
        }
        all.extend(json(kind, message)?);
        if all.len() > LONGEST_JSON {
            let expected = "messages of at most 16 MiB as JSON, the limit for checks".to_owned();
            return Err(Undecodable { expected, got: "longer ones".to_owned() });
        }
        body = rest;
    }
    all.push(b']');
    Ok(all)
}

fn json(kind: &MessageDescriptor, body: &[u8]) -> Result<Vec<u8>, Undecodable> {
    let name = kind.full_name();
    let wrong = |expected: String, got: String| Undecodable { expected, got };
    let bytes = body.get(PREFIX..).unwrap_or_default();
    let length = length(body).unwrap_or(0);
    if length > LONGEST {
        let expected = "a message of at most 4 MiB, the limit for checks".to_owned();
        return Err(wrong(expected, format!("one of {length} bytes")));
    }
    if bytes.len() < length {
        let got = format!("the first {} of {length} bytes", bytes.len());
        return Err(wrong(format!("a whole message of the type {name}"), got));
    }
    let undecodable = |error: String| {
        let got = format!("bytes that are none: {}", beginning(&error));
        wrong(format!("a message of the type {name}"), got)
    };
    let message = DynamicMessage::decode(kind.clone(), bytes);
    let message = message.map_err(|e| undecodable(e.to_string()))?;
    let mut json = serde_json::Serializer::new(Bounded(Vec::new()));
    match message.serialize_with_options(&mut json, &FORM) {
        Ok(()) => Ok(json.into_inner().0),
        Err(error) if error.is_io() => {
            let expected = "a message of at most 16 MiB as JSON, the limit for checks".to_owned();
            Err(wrong(expected, "a longer one".to_owned()))
        }
        Err(error) => Err(undecodable(error.to_string())),
    }
}

/// Returns at most the first [`LONGEST_TEXT`] bytes of a text.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

/// Refuses more than [`LONGEST_JSON`] bytes: a message of a few bytes may have any number of fields with
/// default values.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST_JSON {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
