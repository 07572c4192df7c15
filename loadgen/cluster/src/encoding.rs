//! Encodes messages as bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Encodes a message as MessagePack.
///
/// # Errors
/// Returns an error message if MessagePack can't represent the value.
pub(super) fn encode(message: &impl Serialize) -> Result<Vec<u8>, String> {
    rmp_serde::to_vec_named(message).map_err(|e| format!("cannot encode a message: {e}"))
}

/// Decodes a message from MessagePack bytes that anyone may have sent.
///
/// # Errors
/// Returns an error message if the bytes are not a message of this type.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    rmp_serde::from_slice(bytes)
        .map_err(|e| format!("cannot decode a message of {} bytes: {e}", bytes.len()))
}
