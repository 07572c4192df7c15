//! Makes the messages of gRPC calls, and reads what comes back
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod reply;

use std::time::Duration;

use bytes::{BufMut, Bytes};
use http::HeaderName;
use prost_reflect::prost::Message;
use prost_reflect::{MessageDescriptor, MethodDescriptor};

pub use self::reply::Reply;
use loadgen_scenario::{Protos, Step, message_of_json, messages_of_json};

/// Header of a request that has the time which the client gives the server.
pub const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// Length in bytes of the prefix of a message: whether the message is compressed, and its length.
pub const PREFIX: usize = 5;

/// A method that is called, with the types of its messages.
pub struct Call {
    request: MessageDescriptor,
    response: MessageDescriptor,
    /// Whether the client sends a stream of messages.
    sends_many: bool,
    /// Whether the server answers with a stream of messages.
    answers_many: bool,
}

impl Call {
    /// Returns the call that `step` makes; `None` if `protos` lacks its method.
    pub fn of(step: &Step, protos: Option<&Protos>) -> Option<Self> {
        Some(Self::new(&protos?.method(step.path.as_constant()?)?))
    }

    fn new(method: &MethodDescriptor) -> Self {
        Self {
            request: method.input(),
            response: method.output(),
            sends_many: method.is_client_streaming(),
            answers_many: method.is_server_streaming(),
        }
    }

    /// Returns the body of a request whose message has this JSON form; of a stream, this is an array with the JSON
    /// form of each message. Returns a sentence if the JSON is not of such messages.
    pub fn request(&self, json: &[u8]) -> Result<Bytes, String> {
        let json = std::str::from_utf8(json).map_err(|e| e.to_string())?;
        let read = match self.sends_many {
            true => messages_of_json(&self.request, json),
            false => message_of_json(&self.request, json).map(|message| vec![message]),
        };
        let messages = read.map_err(|e| {
            format!("the message is not of the type {}: {e}", self.request.full_name())
        })?;
        let mut body =
            Vec::with_capacity(messages.iter().map(|it| PREFIX + it.encoded_len()).sum());
        for message in messages {
            let Ok(length) = u32::try_from(message.encoded_len()) else {
                return Err("the message is longer than 4 GiB".to_owned());
            };
            body.put_u8(0);
            body.put_u32(length);
            // The vector has room for the message.
            message.encode(&mut body).map_err(|e| e.to_string())?;
        }
        Ok(body.into())
    }
}

/// Returns the value of [`TIMEOUT`] for this time: at most eight digits, and a unit.
pub fn timeout(time: Duration) -> String {
    const MOST: u128 = 99_999_999;
    match time.as_micros() {
        micros @ ..=MOST => format!("{}u", micros.max(1)),
        micros => format!("{}m", micros.div_ceil(1_000).min(MOST)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_has_at_most_eight_digits() {
        for (time, value) in [
            (Duration::from_nanos(1), "1u"),
            (Duration::from_micros(1_500), "1500u"),
            (Duration::from_secs(30), "30000000u"),
            (Duration::from_micros(99_999_999), "99999999u"),
            (Duration::from_micros(100_000_001), "100001m"),
            (Duration::from_secs(600), "600000m"),
        ] {
            assert_eq!(timeout(time), value);
        }
    }
}
