//! Services that steps of a file can call with gRPC.

use crate::protos::Protos;

/// Services that steps can call.
#[derive(Default)]
pub(super) enum Services {
    /// None: the file has no `[grpc]`.
    #[default]
    Missing,
    /// Unknown: `[grpc]` has a fault.
    Faulty,
    Read(Protos),
}
