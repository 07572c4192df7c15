//! Holds the facts that a reader must know before believing the figures.

mod kind;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::kind::VerdictKind;

/// A fact that a reader must know before believing the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Code of the verdict.
    pub kind: VerdictKind,
    /// Name of the target; `None` if the verdict concerns the whole run.
    pub target: Option<String>,
    /// Description of the observation.
    pub message: String,
    /// Recommended action.
    pub advice: String,
}

impl Verdict {
    /// Returns the message, followed by the code of the verdict's kind in brackets.
    #[must_use]
    pub fn coded(&self) -> String {
        self.kind.coded(&self.message)
    }
}

impl VerdictKind {
    /// Returns `text`, followed by the code of this kind in brackets, such as `[target_ended]`.
    #[must_use]
    pub fn coded(self, text: &str) -> String {
        format!("{text} [{}]", self.as_ref())
    }

    /// Returns whether a verdict of this kind makes a run a failure, even if all thresholds hold.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::NothingAnswered | Self::TargetEnded | Self::WentSilent | Self::ProofFailed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantArray;

    #[test]
    fn the_code_is_the_name_in_documents() {
        for kind in VerdictKind::VARIANTS {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_ref());
        }
    }

    #[test]
    fn verdicts_of_earlier_versions_can_be_read() {
        let kind: VerdictKind = serde_json::from_str("\"drift\"").unwrap();
        assert_eq!(kind, VerdictKind::NotSteady);
    }
}
