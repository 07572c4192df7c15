//! Limits of the systems on which workers run.

use serde::{Deserialize, Serialize};

use loadgen_engine::Share;

/// Limits of a system on the connections of a worker, as the worker reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SystemLimits {
    /// Greatest number of files that the worker may open; `None` if unknown.
    pub open_files: Option<u64>,
    /// Number of local ports for connections to one server; `None` if unknown.
    pub local_ports: Option<u32>,
}

impl SystemLimits {
    /// Returns the lower limit of each kind.
    #[must_use]
    pub fn or_lower(self, other: Self) -> Self {
        fn lower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            // Unknown limits count for nothing.
            one.into_iter().chain(other).min()
        }
        Self {
            open_files: lower(self.open_files, other.open_files),
            local_ports: lower(self.local_ports, other.local_ports),
        }
    }
}

/// Workers that share the local ports of a host, with their shares of the load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostShares {
    /// Name of the host, as the user calls it or as it calls itself.
    pub host: String,
    /// Share of each of its workers.
    pub shares: Vec<Share>,
    /// Limits of each of its workers.
    pub limits: SystemLimits,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_limit_is_not_the_lower_one() {
        let one = SystemLimits { open_files: Some(1_024), local_ports: None };
        let other = SystemLimits { open_files: Some(512), local_ports: Some(9) };
        assert_eq!(one.or_lower(other), other);
        assert_eq!(one.or_lower(SystemLimits::default()), one);
    }
}
