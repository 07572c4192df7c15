//! Messages as bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes a message.
///
/// # Errors
/// A sentence, for a value that MessagePack can't hold.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, String> {
    rmp_serde::to_vec_named(message).map_err(|e| format!("a message cannot be written: {e}"))
}

/// Reads a message from bytes that anyone may have sent.
///
/// # Errors
/// A sentence, for what is no such message.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    rmp_serde::from_slice(bytes).map_err(|e| format!("{} bytes are no message: {e}", bytes.len()))
}
