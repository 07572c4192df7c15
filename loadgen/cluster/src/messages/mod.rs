//! Defines the messages between a manager and its workers.

mod outline;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::address::host_name;
use super::blobs::{Assignment, Chunk, Digest};
use super::encoding::decode;
use super::limits::SystemLimits;
use loadgen_engine::{Finished, LoadChange, Takeover};
use loadgen_measure::{Snapshot, StrainSample};

/// Version number of this protocol. Increase the number with every change to a message in this
/// file, or to a type that is part of such a message.
pub(super) const PROTOCOL: u32 = 20;

/// Version of this program.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Maximum number of histograms of many different values in a report, to limit the memory of a decoded report: such a
/// histogram takes 180 KB in memory, but may take as little as 200 bytes in the message. A step has one
/// histogram for each second and kind of latency; in one second, it seldom has many different values. Workers split
/// what has more.
pub(super) const MOST_HISTOGRAMS: usize = 2_000;

/// First message of a worker, which the manager answers with an `Admission`. Other versions must be
/// able to read these two messages, so fields may only be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Version number of the worker's protocol.
    pub protocol: u32,
    /// Version of the worker's program.
    pub version: String,
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Name of the worker's host, with that of the node if it is a pod of a cluster; empty if the worker sends none.
    #[serde(default)]
    pub host: String,
    /// Number of CPUs that the worker may use; zero if unknown.
    #[serde(default)]
    pub cpus: usize,
    /// Limits of the worker's system.
    #[serde(default)]
    pub limits: SystemLimits,
}

impl Hello {
    /// Creates the first message that this program sends as the worker with the number `worker`.
    #[must_use]
    pub fn from_worker(worker: u32) -> Self {
        Self {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            worker,
            host: host_name(),
            cpus: std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
            limits: SystemLimits::default(),
        }
    }
}

/// Checks that a peer has the same protocol and version as this program.
///
/// # Errors
/// Returns a sentence that names both versions, if the peer's protocol or version differs.
pub(super) fn check_version(protocol: u32, version: &str) -> Result<(), String> {
    if (protocol, version) == (PROTOCOL, VERSION) {
        return Ok(());
    }
    Err(format!(
        "the peer is loadgen {version} with protocol {protocol}, but this is loadgen {VERSION} with protocol {PROTOCOL}"
    ))
}

/// Command of a manager to a worker. A worker refuses every command that belongs to an earlier
/// round than the newest round of the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Store a chunk of an encoded plan or of data rows, to which a later [`Command::Prepare`]
    /// refers by digest.
    Chunk(Chunk),
    /// Prepare a round.
    Prepare {
        /// Epoch (unique number) of the round: the manager's start time, in seconds of Unix time,
        /// plus the number of rounds since the manager's start.
        epoch: u32,
        /// The worker's part of the round: plan, data rows, and share of the load.
        assignment: Assignment,
    },
    /// Answer at once, so that the manager can measure the round-trip time.
    Ping,
    /// Start the round.
    Start {
        /// Epoch (unique number) of the round.
        epoch: u32,
        /// Time from the receipt of this command until the common start of all workers. The manager
        /// has subtracted the command's travel time to the worker.
        after: Duration,
    },
    /// Change the load of the round.
    Change {
        /// Epoch (unique number) of the round.
        epoch: u32,
        /// New load, and the time at which the load changes: late enough for the
        /// change to reach every worker first.
        change: LoadChange,
    },
    /// Carry more of the load of the round, because workers were lost.
    TakeOver {
        /// Epoch (unique number) of the round.
        epoch: u32,
        /// All takeovers of the round so far, so that it does not matter which command arrives first.
        takeovers: Vec<Takeover>,
    },
    /// End the round now, and report the results so far.
    Stop {
        /// Epoch (unique number) of the round.
        epoch: u32,
    },
    /// Leave the manager: no further round follows.
    Quit,
}

/// Manager's answer to the first message of a worker, [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Admission {
    /// The manager admits the sender as the worker that the sender claims to be.
    Admitted,
    /// The worker is already connected: as another process, or as the sender through an earlier
    /// connection whose loss the manager has not noticed yet.
    Occupied,
    /// The sender can't be a worker of this manager.
    Refused {
        /// Reason for the refusal, in a sentence.
        reason: String,
    },
}

/// Worker's answer to a [`Command`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The command was carried out.
    Done,
    /// The command was refused.
    Refused {
        /// Reason for the refusal, in a sentence.
        reason: String,
    },
}

impl From<Result<(), String>> for Answer {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(reason) => Self::Refused { reason },
        }
    }
}

/// Report of a worker to its manager during a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Epoch (unique number) of the round.
    pub epoch: u32,
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Content of the report.
    pub news: News,
}

/// Content of a worker's report about a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// New results, and the strain on the worker's process (CPU use
    /// and timer delays) in the same time.
    Snapshot(Snapshot, StrainSample),
    /// Final report: the round is over on this worker. The digest
    /// identifies the plan that the worker ran.
    Finished(Finished, Digest),
    /// Final report: the round failed on this worker. The value is the reason.
    Failed(String),
}

/// Decodes a report. Refuses a report that would take far more memory than its encoded bytes.
///
/// # Errors
/// Returns an error message if the bytes are not a report or contain too many large histograms.
pub(super) fn decode_report(bytes: &[u8]) -> Result<Report, String> {
    let histograms = outline::histograms(bytes)?;
    if histograms > MOST_HISTOGRAMS {
        return Err(format!("{histograms} large histograms in one report are too many"));
    }
    decode(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::encoding::encode;
    use super::*;
    use loadgen_scenario::LoadLevel;
    use proptest::prelude::*;

    #[test]
    fn a_change_survives_encoding_to_the_bit() {
        for to in [LoadLevel::Users(7), LoadLevel::Rate(0.1 + 0.2)] {
            let change = LoadChange { at: Duration::from_nanos(1_234_567_891), to };
            let command = Command::Change { epoch: 3, change };
            assert_eq!(decode::<Command>(&encode(&command).unwrap()).unwrap(), command);
        }
    }

    #[test]
    fn another_version_is_refused_with_both_versions_named() {
        assert_eq!(check_version(PROTOCOL, VERSION), Ok(()));
        let reason = check_version(99, "7.0.0").unwrap_err();
        assert!(reason.contains("7.0.0 with protocol 99") && reason.contains(VERSION), "{reason}");
        assert!(check_version(PROTOCOL, "7.0.0").is_err());
    }

    #[test]
    fn the_hello_of_a_later_version_can_be_read() {
        #[derive(Serialize)]
        struct Later {
            protocol: u32,
            version: &'static str,
            worker: u32,
            cores: u32,
        }
        let later = Later { protocol: 2, version: "2.0.0", worker: 1, cores: 8 };
        let hello: Hello = decode(&encode(&later).unwrap()).unwrap();
        assert_eq!((hello.protocol, hello.worker), (2, 1));
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode::<Command>(&bytes);
            let _ = decode::<Report>(&bytes);
            let _ = decode::<Hello>(&bytes);
            let _ = decode::<Answer>(&bytes);
        }

        #[test]
        fn a_damaged_report_never_causes_a_panic(at in 0usize..2_000, with in any::<u8>(), cut in 0usize..2_000) {
            let mut counts = loadgen_measure::Counts::default();
            (1..200u64).for_each(|us| counts.answered.record(Duration::from_micros(us * us)));
            let interval = loadgen_measure::Interval {
                phase: loadgen_measure::Phase::Hold,
                second: 1,
                steps: vec![counts.clone()],
                flows: vec![counts],
                ..loadgen_measure::Interval::default()
            };
            let snapshot = Snapshot::new(1, vec![interval]);
            let news = News::Snapshot(snapshot, StrainSample::default());
            let mut bytes = encode(&Report { epoch: 1, worker: 1, news }).unwrap();
            let len = bytes.len();
            bytes[at % len] = with;
            bytes.truncate(len - cut % len);
            let _ = decode::<Report>(&bytes);
        }
    }
}
