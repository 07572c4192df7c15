//! Formats bytes as hexadecimal digits.

use rand::TryRng;
use rand::rngs::SysRng;

use super::error::ClusterError;

/// Returns `bytes` random bytes from the operating system, in hexadecimal.
pub(super) fn random_hex(bytes: usize) -> Result<String, ClusterError> {
    let mut random = vec![0; bytes];
    SysRng
        .try_fill_bytes(&mut random)
        .map_err(|e| ClusterError::Bus(format!("no random bytes: {e}")))?;
    Ok(hex(&random))
}

/// Formats bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
