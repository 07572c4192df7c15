//! Messages of observers: a line of JSON each.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::measure::ResourceRecord;

/// A question.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Question {
    /// Key that all pods of a run have.
    pub key: String,
    pub about: About,
}

/// Subject of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum About {
    /// The pod, and the memory of the server now.
    Pod,
    /// The resources that the server uses from the next byte on, until the connection's sending side is shut down. A
    /// connection is so made ahead of the moment.
    Window,
}

/// An answer.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// To [`About::Pod`].
    Pod(Pod),
    /// The first answer to [`About::Window`].
    Began { containers: Containers },
    /// Resources that the server uses now, once a second in a window: CPU time in % of one core, and memory in bytes.
    Now { cpu_percent: f64, memory_bytes: u64 },
    /// The last answer to [`About::Window`].
    Used {
        record: Box<ResourceRecord>,
        /// Mean utilization of the node's CPUs by any program, in %.
        node_busy_percent: f64,
        containers: Containers,
    },
    /// Why there is no answer.
    Refused(String),
}

/// First processes of the other containers of a pod, and the observer: each by its ID and its start, because the system reuses IDs. A
/// container that was started again has another one.
pub(super) type Containers = BTreeSet<(u32, u64)>;

/// A pod of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pod {
    pub name: String,
    /// Node on which it runs.
    pub node: String,
    /// Number of the node's CPUs.
    pub node_cpus: u32,
    /// CPUs that the server may use here: its limit, or else those of the node.
    pub cpus: f64,
    /// Memory of the server now, in bytes.
    pub memory_bytes: u64,
    pub containers: Containers,
}
