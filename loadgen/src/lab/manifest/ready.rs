//! Check that tells whether a target is ready, as the manifest names it.

use serde::Deserialize;

/// Value of `ready` that stands for the health service of gRPC.
const GRPC: &str = "grpc";

/// Check that a target must pass before it is ready.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Ready {
    /// The target answers `GET` of this path with a 2xx status.
    Path(String),
    /// The health service of gRPC reports that the target serves.
    Grpc,
    /// The target accepts connections: the weakest check.
    Listens,
}

impl Ready {
    /// Returns the check of a target that implements the contract of the lab's targets.
    pub(super) fn health() -> Self {
        Self::Path("/health".to_owned())
    }
}

impl TryFrom<String> for Ready {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match &*text {
            GRPC => Ok(Self::Grpc),
            path if path.starts_with('/') => Ok(Self::Path(text)),
            _ => Err(format!("`ready` must be a path that begins with /, or \"{GRPC}\"")),
        }
    }
}
