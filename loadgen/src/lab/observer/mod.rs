//! Observes a server in the pods of a cluster. Beside the server, in a container that shares the process namespace of
//! its pod, one process answers questions ([`serve`]); the manager of a run asks those of all replicas ([`Observers`]).
//! Neither needs rights in the cluster, nor programs in the image of the server.

mod ask;
mod beside;
mod message;

pub use self::ask::{Observers, Pods, Window};
pub use self::beside::{Place, serve};
