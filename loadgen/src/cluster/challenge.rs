//! The manager's proof to a worker: that it knows the worker's password. Zenoh checks the other direction, by
//! a challenge of its own.
//!
//! A worker's hello carries a challenge, 32 random bytes; the answer to it carries a code over challenge and
//! answer (HMAC-SHA256, RFC 2104) with the password as its key. An answer of an earlier hello, of another
//! worker, or of somebody who was never told the password has the wrong code. A worker takes no command before
//! an answer had the right one. Commands have none: after the answer nobody but the manager is at the other
//! end of the link, which is a socket of this user's own, through TLS where the manager is on another host.

use hmac::{Hmac, Mac};
use rand::TryRng;
use rand::rngs::SysRng;
use sha2::Sha256;

use super::error::ClusterError;

/// So that a code is good for nothing else that the password may be used for.
const PURPOSE: &[u8] = b"loadgen: the manager answers hello";

/// What the manager has to answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Challenge([u8; 32]);

impl Challenge {
    /// A new one.
    ///
    /// # Errors
    /// Where the system has no random bytes.
    pub fn new() -> Result<Self, ClusterError> {
        let mut bytes = [0; 32];
        let failed = |e| ClusterError::Bus(format!("no random bytes: {e}"));
        SysRng.try_fill_bytes(&mut bytes).map_err(failed)?;
        Ok(Self(bytes))
    }

    /// Reads one, if these bytes are one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// As it travels.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The proof of who knows this password, and gives this answer.
    pub fn prove(&self, password: &str, answer: &[u8]) -> Vec<u8> {
        self.code(password, answer).finalize().into_bytes().to_vec()
    }

    /// Whether this proof comes with this answer from somebody who knows the password; compared in constant
    /// time.
    pub fn is_met(&self, password: &str, answer: &[u8], proof: &[u8]) -> bool {
        self.code(password, answer).verify_slice(proof).is_ok()
    }

    fn code(&self, password: &str, answer: &[u8]) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut code = Hmac::<Sha256>::new_from_slice(password.as_bytes()).expect("any length");
        // The first two have the same length each time.
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
    fn a_proof_is_of_one_challenge_one_password_and_one_answer() {
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
