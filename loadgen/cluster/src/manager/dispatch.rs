//! Sends a plan and its rows to the workers: each blob once to each worker for any number of
//! rounds, and few chunks at the same time for any number of workers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::{JoinSet, block_in_place};

use super::Cluster;
use crate::blobs::{Assignment, Blob, CHUNK, Digest};
use crate::bus::ManagerBus;
use crate::error::ClusterError;
use crate::messages::Command;
use loadgen_engine::Plan;

/// Maximum number of bytes in flight to all workers together. The network layer holds
/// more than one copy of these bytes.
const ON_THE_WAY: usize = 8 * CHUNK;
/// Time limit for a worker to acknowledge a chunk: long enough for a connection of 280 kbit/s.
const CHUNK_LIMIT: Duration = Duration::from_secs(30);

/// Outcome of sending a plan to the workers.
pub(super) struct Dispatched {
    /// Digest of the encoded plan.
    pub digest: Digest,
    /// Number of each present worker, with the worker's assignment, or with the
    /// error if its data could not be sent.
    pub workers: Vec<(u32, Result<Assignment, ClusterError>)>,
}

/// Assignment of one worker, and the blobs (encoded plan and data rows) that the assignment names.
struct Parcel {
    worker: u32,
    assignment: Assignment,
    blobs: Vec<Arc<Blob>>,
}

impl Cluster {
    /// Sends each present worker its part of the plan: the encoded plan and data rows
    /// that the worker does not have yet.
    ///
    /// # Errors
    /// If the plan can't be encoded.
    pub(super) async fn dispatch(&mut self, plan: &Plan) -> Result<Dispatched, ClusterError> {
        let on_the_way = Arc::new(Semaphore::new(ON_THE_WAY));
        let mut sending = JoinSet::new();
        // Large files take a while, and events must continue to arrive in that time.
        let packed = block_in_place(|| self.parcels(plan)).map_err(ClusterError::Bus)?;
        let (digest, parcels) = packed;
        for parcel in parcels {
            let Parcel { worker, assignment, mut blobs } = parcel;
            let held = self.held.entry(worker).or_default();
            blobs.retain(|blob| !held.contains(blob.digest()));
            let (bus, on_the_way) = (self.bus.clone(), on_the_way.clone());
            sending.spawn(async move {
                let sent = send(&bus, worker, &blobs, &on_the_way).await;
                (worker, sent.map(|()| assignment))
            });
        }
        let workers = sending.join_all().await;
        for (worker, sent) in &workers {
            if let Ok(Assignment { plan, rows, .. }) = sent {
                // The worker drops all other blobs when it prepares.
                let named = [plan].into_iter().chain(rows).cloned();
                self.held.insert(*worker, named.collect());
            }
        }
        Ok(Dispatched { digest, workers })
    }

    /// Encodes the plan and its data rows. Returns the plan's digest and each worker's data. Rows
    /// that all workers share are encoded once. Rows that are divided among the workers are encoded
    /// in one part for each worker; together the parts are no larger than the rows.
    fn parcels(&self, plan: &Plan) -> Result<(Digest, Vec<Parcel>), String> {
        let common = Arc::new(Blob::of_plan(plan)?);
        let whole = &plan.scenario.rows;
        let mut shared: Vec<Option<Arc<Blob>>> = vec![None; whole.len()];
        let mut parcels = Vec::new();
        for worker in self.present() {
            let Some(share) = self.share(worker) else { continue };
            let part = plan.part(share);
            let mut blobs = Vec::new();
            for ((own, whole), shared) in part.scenario.rows.iter().zip(whole).zip(&mut shared) {
                blobs.push(match shared {
                    _ if !Arc::ptr_eq(&own.cells, &whole.cells) => Arc::new(Blob::of(&*own.cells)?),
                    Some(blob) => blob.clone(),
                    None => shared.insert(Arc::new(Blob::of(&*whole.cells)?)).clone(),
                });
            }
            let rows = blobs.iter().map(|blob| blob.digest().clone()).collect();
            let assignment = Assignment { plan: common.digest().clone(), rows, share: part.share };
            blobs.push(common.clone());
            parcels.push(Parcel { worker, assignment, blobs });
        }
        Ok((common.digest().clone(), parcels))
    }
}

/// Sends blobs, which are encoded data, to a worker, one chunk after another.
async fn send(
    bus: &ManagerBus,
    worker: u32,
    blobs: &[Arc<Blob>],
    on_the_way: &Semaphore,
) -> Result<(), ClusterError> {
    let mut sent: BTreeSet<&Digest> = BTreeSet::new();
    for blob in blobs.iter().filter(|blob| sent.insert(blob.digest())) {
        for chunk in blob.chunks() {
            // A chunk is smaller than 4 GiB.
            let bytes = chunk.bytes.len() as u32;
            let _turn = on_the_way.acquire_many(bytes).await.map_err(ClusterError::bus)?;
            let chunk = Command::Chunk(chunk);
            bus.command(worker, "a part of the plan", &chunk, CHUNK_LIMIT).await?;
        }
    }
    Ok(())
}
