//! One server of a target.

use std::path::PathBuf;

use super::size::Size;
use crate::lab::manifest::TargetSpec;

/// A server to start: a target, or one of its replicas.
pub(super) struct Instance<'a> {
    pub(super) target: &'a TargetSpec,
    pub(super) size: Size<'a>,
    /// Number of the replica, from 1; `None` for the target itself.
    pub(super) replica: Option<u32>,
    /// File for the server's output.
    pub(super) log: PathBuf,
}

impl Instance<'_> {
    /// Returns the name of the service that runs the server.
    pub(super) fn name(&self) -> String {
        match self.replica {
            Some(number) => format!("{}-replica-{number}", self.target.name),
            None => self.target.name.clone(),
        }
    }
}
