//! Connects manager and workers over the network. No other module names Zenoh; manager and worker
//! have a file each. All messages are typed; bytes that are not a valid message become an
//! [`Event::Foreign`] or a refusal.
//!
//! Keys, where `RUN` is random and `I` is a worker's number:
//!
//! | key | use |
//! |---|---|
//! | `loadgen/RUN/manager/alive` | liveliness token of the manager |
//! | `loadgen/RUN/worker/I/hello` | the manager answers a [`Hello`](super::messages::Hello) with its [proof] |
//! | `loadgen/RUN/worker/I/alive` | liveliness token of a worker: it has joined |
//! | `loadgen/RUN/worker/I/command` | a worker answers a [`Command`](super::messages::Command), once it has the manager's proof |
//! | `loadgen/RUN/worker/I/report` | a worker publishes each [`Report`](super::messages::Report) |
//!
//! The manager admits one process at a time as worker `I`.
//!
//! [proof]: super::challenge

mod manager;
mod places;
#[cfg(test)]
mod tests;
mod worker;

use std::time::Duration;

pub(super) use manager::{Event, Events, ManagerBus};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
pub use worker::{Request, WorkerBus};
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::{ConsolidationMode, Query};
use zenoh::sample::Sample;
use zenoh::{Config, Session, Wait};

use super::challenge::Challenge;
use super::error::ClusterError;
use super::messages::Answer;
use super::settings::LARGEST;
use crate::encoding::{decode, encode};

/// Threads that send queries at the same time. A thread waits while the queue to its worker is full,
/// which the few chunks in flight can do to no more than half of them. A thread for each of a thousand
/// workers would wait for Zenoh's locks, on a stack of its own.
static SENDERS: Semaphore = Semaphore::const_new(16);
/// Time limit for closing a network session.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// Runs work that may block the thread. Zenoh's futures do all of their work when first
/// polled: to await a future that sends would block a thread that runs simulated users for
/// as long as the network is congested.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
}

/// Sends `message` as a query, with `challenge` if given, to the peer that answers at the Zenoh key
/// `key`. Returns the answer. `who` names the peer in errors.
async fn ask(
    session: &Session,
    key: &str,
    who: &str,
    message: &impl Serialize,
    challenge: Option<&Challenge>,
    limit: Duration,
) -> Result<Sample, ClusterError> {
    let bytes = encode_within_limit(message)?;
    let (session, key) = (session.clone(), key.to_owned());
    let attachment = challenge.map(|challenge| challenge.bytes().to_vec());
    let send = move || {
        session
            .get(key)
            .payload(bytes)
            .attachment(attachment)
            .priority(Priority::InteractiveHigh)
            .express(true)
            .congestion_control(CongestionControl::Block)
            .consolidation(ConsolidationMode::None)
            .timeout(limit)
            .wait()
    };
    let turn = SENDERS.acquire().await.map_err(ClusterError::bus)?;
    let sent = tokio::task::spawn_blocking(send).await.map_err(ClusterError::bus)?;
    drop(turn);
    let replies = sent.map_err(ClusterError::bus)?;
    let silent = || ClusterError::Bus(format!("{who} did not answer"));
    let reply = tokio::time::timeout(limit, replies.recv_async())
        .await
        .map_err(|_| silent())?
        .map_err(|_| silent())?;
    reply.into_result().map_err(|_| silent())
}

/// Converts a peer's encoded answer to a result. `who` names the peer
/// in errors, and `what` the request.
fn obeyed(answer: &[u8], who: &str, what: &'static str) -> Result<(), ClusterError> {
    match decode(answer).map_err(ClusterError::Bus)? {
        Answer::Done => Ok(()),
        Answer::Refused { reason } => {
            Err(ClusterError::Refused { who: who.to_owned(), what, reason })
        }
    }
}

fn encode_within_limit(message: &impl Serialize) -> Result<Vec<u8>, ClusterError> {
    let bytes = encode(message).map_err(ClusterError::Bus)?;
    // The remaining bytes are for what Zenoh adds.
    let limit = LARGEST - 4096;
    if bytes.len() > limit {
        return Err(ClusterError::TooLarge { bytes: bytes.len(), limit });
    }
    Ok(bytes)
}

/// Answers a query without a future, for use in a callback of Zenoh. Ignores errors.
fn reply(query: &Query, answer: &Answer) {
    if let Ok(bytes) = encode(answer) {
        let _ = query.reply(query.key_expr(), bytes).wait();
    }
}

fn payload<T: DeserializeOwned>(query: &Query) -> Result<T, String> {
    decode(&query.payload().map(|p| p.to_bytes()).unwrap_or_default())
}

fn config(settings: &serde_json::Value) -> Result<Config, ClusterError> {
    Config::from_json5(&settings.to_string()).map_err(ClusterError::bus)
}

async fn close(session: &Session) {
    let _ = tokio::time::timeout(CLOSE_LIMIT, session.close()).await;
}
