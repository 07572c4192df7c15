//! Defines the messages between a manager and its workers.

mod outline;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::address::host_name;
use super::blobs::{Assignment, Chunk, Digest};
use super::encoding::decode;
use crate::engine::{Finished, LoadChange};
use crate::measure::{Snapshot, StrainSample};

/// Version number of this protocol. Increase it with every change to a message in this file, or to
/// a type that is part of such a message.
pub(super) const PROTOCOL: u32 = 8;

/// Version of this program.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Maximum number of histograms in a report. A histogram takes 172 KB in memory, but may take as
/// little as 41 bytes in the message. A step has one histogram for each second and kind of latency.
const MOST_HISTOGRAMS: usize = 2_000;

/// First message of a worker, which the manager answers with an `Admission`. Other versions must
/// be able to read both messages, so both may only grow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// `PROTOCOL` of the worker.
    pub protocol: u32,
    /// `VERSION` of the worker.
    pub version: String,
    /// Number of the worker.
    pub worker: u32,
    /// Name of the worker's host; empty if the worker sends none.
    #[serde(default)]
    pub host: String,
    /// Number of CPUs that the worker may use; zero if unknown.
    #[serde(default)]
    pub cpus: usize,
}

impl Hello {
    /// Returns the first message of this program as worker `worker`.
    #[must_use]
    pub fn from_worker(worker: u32) -> Self {
        Self {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            worker,
            host: host_name(),
            cpus: std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        }
    }
}

/// Checks that a peer has the same protocol and version as this program.
///
/// # Errors
/// A sentence that names both versions.
pub(super) fn check_version(protocol: u32, version: &str) -> Result<(), String> {
    if (protocol, version) == (PROTOCOL, VERSION) {
        return Ok(());
    }
    Err(format!(
        "the peer is loadgen {version} with protocol {protocol}, but this is loadgen {VERSION} with protocol {PROTOCOL}"
    ))
}

/// Command of a manager to a worker. A worker refuses every command of an epoch before its newest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Keep a part of a blob that a later [`Command::Prepare`] names.
    Chunk(Chunk),
    /// Prepare a round.
    Prepare {
        /// Epoch of the round: the manager's start time, in seconds of Unix time, plus
        /// the number of rounds since then.
        epoch: u32,
        /// Worker's part of the round.
        assignment: Assignment,
    },
    /// Answer at once: the manager measures the round trip.
    Ping,
    /// Start the round.
    Start {
        /// Epoch of the round.
        epoch: u32,
        /// Time from the receipt of this command to the common start. The manager subtracts the
        /// command's travel time to each worker.
        after: Duration,
    },
    /// Change the load of the round.
    Change {
        /// Epoch of the round.
        epoch: u32,
        /// New load and its time, which is after the change has reached every worker.
        change: LoadChange,
    },
    /// End the round now, and report the results so far.
    Stop {
        /// Epoch of the round.
        epoch: u32,
    },
    /// Leave: there is no further round.
    Quit,
}

/// Answer to a [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Admission {
    /// The sender is this worker from now on.
    Admitted,
    /// Another process is this worker, or the sender is, through a connection whose
    /// loss has not been noticed yet.
    Occupied,
    /// The sender can't be a worker of this manager.
    Refused {
        /// Reason for the refusal, in a sentence.
        reason: String,
    },
}

/// Answer to a [`Command`].
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
    /// Epoch of the round.
    pub epoch: u32,
    /// Number of the worker.
    pub worker: u32,
    /// Content of the report.
    pub news: News,
}

/// Content of a worker's report about a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// Results, and the strain on the worker's process in the same time.
    Snapshot(Snapshot, StrainSample),
    /// Final report: the round is over on this worker. Contains the digest
    /// of the plan that the worker ran.
    Finished(Finished, Digest),
    /// Final report: the round failed on this worker, and why.
    Failed(String),
}

/// Decodes a report, unless it would take far more memory than it has bytes.
///
/// # Errors
/// A sentence, if the bytes are not a report or contain too many histograms.
pub(super) fn decode_report(bytes: &[u8]) -> Result<Report, String> {
    let histograms = outline::histograms(bytes)?;
    if histograms > MOST_HISTOGRAMS {
        return Err(format!("{histograms} histograms in one report are too many"));
    }
    decode(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::encoding::encode;
    use super::*;
    use crate::scenario::LoadLevel;
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
            let mut counts = crate::measure::Counts::default();
            (1..200u64).for_each(|us| counts.answered.record(Duration::from_micros(us * us)));
            let interval = crate::measure::Interval {
                phase: crate::measure::Phase::Hold,
                second: 1,
                steps: vec![counts],
            };
            let snapshot = Snapshot { number: 1, intervals: vec![interval] };
            let news = News::Snapshot(snapshot, StrainSample::default());
            let mut bytes = encode(&Report { epoch: 1, worker: 1, news }).unwrap();
            let len = bytes.len();
            bytes[at % len] = with;
            bytes.truncate(len - cut % len);
            let _ = decode::<Report>(&bytes);
        }
    }
}
