//! What a manager and its workers say to each other.

mod outline;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::address::host_name;
use super::blobs::{Assignment, Chunk, Digest};
use super::encoding::decode;
use crate::engine::{Finished, LoadChange};
use crate::measure::{Snapshot, StrainSample};

/// The number of this protocol. It goes up with every change to a message of this file, or to a
/// type that travels in one.
pub const PROTOCOL: u32 = 8;

/// This program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How many histograms a report may have: in memory each takes 172 KB, and on the way as little as 41
/// bytes. A step has one for each second and kind of outcome.
const MOST_HISTOGRAMS: usize = 2_000;

/// A worker's first words, to which the manager answers with an [`Admission`]. Other versions read
/// both too, so they may only ever grow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The worker's [`PROTOCOL`].
    pub protocol: u32,
    /// The worker's [`VERSION`].
    pub version: String,
    /// The worker's number.
    pub worker: u32,
    /// The name of its host; empty where it does not say.
    #[serde(default)]
    pub host: String,
    /// How many CPUs it may use; zero where it does not say.
    #[serde(default)]
    pub cpus: usize,
}

impl Hello {
    /// What this program's worker `worker` says.
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

/// Why a peer that speaks `protocol` in `version` can't be worked with, if it can't.
///
/// # Errors
/// A sentence that names both versions.
pub fn check_version(protocol: u32, version: &str) -> Result<(), String> {
    if (protocol, version) == (PROTOCOL, VERSION) {
        return Ok(());
    }
    Err(format!(
        "it is loadgen {version} with protocol {protocol}, this is loadgen {VERSION} with protocol {PROTOCOL}"
    ))
}

/// What a manager tells a worker. A worker obeys no command of an epoch before its newest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Keep a part of what a later [`Command::Prepare`] names.
    Chunk(Chunk),
    /// Make ready for a round.
    Prepare {
        /// The round's number in this cluster, from 1.
        epoch: u32,
        /// What to do in it.
        assignment: Assignment,
    },
    /// Answer at once: how long that takes is measured.
    Ping,
    /// Start the round.
    Start {
        /// The round's number.
        epoch: u32,
        /// From the receipt of this command to the common start: for each worker so much less as the
        /// command takes to it.
        after: Duration,
    },
    /// Change the load of the round.
    Change {
        /// The round's number.
        epoch: u32,
        /// How, and when: not before it has reached every worker.
        change: LoadChange,
    },
    /// End the round now, and report what there is.
    Stop {
        /// The round's number.
        epoch: u32,
    },
    /// Leave: there is no further round.
    Quit,
}

/// The answer to a [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// It is this worker from now on.
    Admitted,
    /// Another process is this worker, or this one is, through a connection whose loss was not noticed yet.
    Occupied,
    /// It can't be a worker of this manager.
    Refused {
        /// Why not, in a sentence.
        reason: String,
    },
}

/// The answer to a [`Command`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// As asked.
    Done,
    /// It won't be done.
    Refused {
        /// Why not, in a sentence.
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

/// What a worker tells its manager during a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The round's number.
    pub epoch: u32,
    /// The worker's number.
    pub worker: u32,
    /// What it has to tell.
    pub news: News,
}

/// A part of what a worker has to tell about a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// Results, and how this process did meanwhile.
    Snapshot(Snapshot, StrainSample),
    /// The last word: the round is over on this worker, and the digest of the plan that it ran.
    Finished(Finished, Digest),
    /// The last word: the round could not be run to its end.
    Failed(String),
}

/// Reads a report, unless it would take far more memory than it has bytes.
///
/// # Errors
/// A sentence, for what is no report, or too much of one.
pub fn decode_report(bytes: &[u8]) -> Result<Report, String> {
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
    fn a_change_survives_the_journey_to_the_bit() {
        for to in [LoadLevel::Users(7), LoadLevel::Rate(0.1 + 0.2)] {
            let change = LoadChange { at: Duration::from_nanos(1_234_567_891), to };
            let command = Command::Change { epoch: 3, change };
            assert_eq!(decode::<Command>(&encode(&command).unwrap()).unwrap(), command);
        }
    }

    #[test]
    fn another_version_is_told_apart_with_both_named() {
        assert_eq!(check_version(PROTOCOL, VERSION), Ok(()));
        let reason = check_version(99, "7.0.0").unwrap_err();
        assert!(reason.contains("7.0.0 with protocol 99") && reason.contains(VERSION), "{reason}");
        assert!(check_version(PROTOCOL, "7.0.0").is_err());
    }

    #[test]
    fn a_hello_of_a_later_version_can_be_read() {
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
        fn foreign_bytes_are_refused_and_panic_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode::<Command>(&bytes);
            let _ = decode::<Report>(&bytes);
            let _ = decode::<Hello>(&bytes);
            let _ = decode::<Answer>(&bytes);
        }

        #[test]
        fn a_damaged_report_panics_nothing(at in 0usize..2_000, with in any::<u8>(), cut in 0usize..2_000) {
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
