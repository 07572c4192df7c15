//! Proves to a worker that the manager knows the worker's password. Zenoh checks the other
//! direction, by a separate challenge.
//!
//! A worker's first message carries a challenge, 32 random bytes. The manager's answer carries a
//! code over challenge and answer (HMAC-SHA256, RFC 2104), with the password as the key. The code
//! is wrong if the answer is to an earlier challenge, for another worker, or from anyone who was
//! never given the password. A worker accepts no command before an answer had the right code.
//! Commands carry no code: after the answer only the manager can be at the other end of the
//! connection. The connection is a socket of this user, and goes through TLS if the manager is on
//! another host.

use hmac::{Hmac, Mac};
use rand::TryRng;
use rand::rngs::SysRng;
use sha2::Sha256;

use super::error::ClusterError;

/// First part of the bytes that each HMAC covers, so that an HMAC made for this purpose is
/// valid for no other use of the password.
const PURPOSE: &[u8] = b"loadgen: the manager answers hello";

/// Random bytes that a worker sends, with which the manager must prove its
/// knowledge of the worker's password.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Challenge([u8; 32]);

impl Challenge {
    /// Creates a random challenge.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub(super) fn new() -> Result<Self, ClusterError> {
        let mut bytes = [0; 32];
        let failed = |e| ClusterError::Bus(format!("no random bytes: {e}"));
        SysRng.try_fill_bytes(&mut bytes).map_err(failed)?;
        Ok(Self(bytes))
    }

    /// Creates a challenge from received bytes. Returns `None` unless there are exactly 32 bytes.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes of the challenge, for sending.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the proof that the sender of `answer` knows `password`: an HMAC-SHA256
    /// over the challenge and the answer.
    pub(super) fn prove(&self, password: &str, answer: &[u8]) -> Vec<u8> {
        self.code(password, answer).finalize().into_bytes().to_vec()
    }

    /// Returns whether `proof` proves that the sender of `answer` knows
    /// `password`. Compares in constant time.
    pub(super) fn is_met(&self, password: &str, answer: &[u8], proof: &[u8]) -> bool {
        self.code(password, answer).verify_slice(proof).is_ok()
    }

    fn code(&self, password: &str, answer: &[u8]) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut code = Hmac::<Sha256>::new_from_slice(password.as_bytes()).expect("any length");
        // The first two parts have fixed lengths.
        for part in [PURPOSE, &self.0, answer] {
            code.update(part);
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_valid_for_one_challenge_password_and_answer() {
        let (challenge, other) = (Challenge::new().unwrap(), Challenge::new().unwrap());
        let proof = challenge.prove("secret", b"done");
        let received = Challenge::read(challenge.bytes()).unwrap();
        assert!(received.is_met("secret", b"done", &proof));
        assert!(!other.is_met("secret", b"done", &proof), "a replay");
        assert!(!challenge.is_met("other", b"done", &proof), "another password");
        assert!(!challenge.is_met("secret", b"refused", &proof), "another answer");
        for short in [&proof[..31], &proof[..1], &[]] {
            assert!(!challenge.is_met("secret", b"done", short), "a part of it");
        }
        assert!(Challenge::read(&proof[1..]).is_none() && Challenge::read(&[]).is_none());
    }
}
