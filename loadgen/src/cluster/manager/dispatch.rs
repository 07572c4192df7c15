//! How a plan and its rows get to the workers: each blob once to each worker, however many rounds need it,
//! and few chunks at the same time, however many workers there are.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::{JoinSet, block_in_place};

use super::Cluster;
use crate::cluster::blobs::{Assignment, Blob, CHUNK, Digest};
use crate::cluster::bus::ManagerBus;
use crate::cluster::error::ClusterError;
use crate::cluster::messages::Command;
use crate::engine::Plan;

/// Bytes that are on their way to workers at the same time, at most. The network holds them more than once.
const ON_THE_WAY: usize = 8 * CHUNK;
/// How long a worker may take to acknowledge a chunk: on a link of 280 kbit/s it still does.
const CHUNK_LIMIT: Duration = Duration::from_secs(30);

/// What has become of a plan that was sent.
pub struct Dispatched {
    /// Its digest.
    pub digest: Digest,
    /// What each worker is to prepare, or why it could not be sent.
    pub workers: Vec<(u32, Result<Assignment, ClusterError>)>,
}

/// What one worker is to be sent.
struct Parcel {
    worker: u32,
    assignment: Assignment,
    blobs: Vec<Arc<Blob>>,
}

impl Cluster {
    /// Sends each worker that is there what it needs for its part of the plan and does not have.
    ///
    /// # Errors
    /// For a plan that can't be sent to anybody.
    pub(super) async fn dispatch(&mut self, plan: &Plan) -> Result<Dispatched, ClusterError> {
        let on_the_way = Arc::new(Semaphore::new(ON_THE_WAY));
        let mut sending = JoinSet::new();
        // Large files take a while, and events go on coming meanwhile.
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
                // It drops all others when it prepares.
                let named = [plan].into_iter().chain(rows).cloned();
                self.held.insert(*worker, named.collect());
            }
        }
        Ok(Dispatched { digest, workers })
    }

    /// Packs the plan, whose digest it gives, and its rows. Rows that all workers have are packed once;
    /// those that are dealt are packed in as many parts as there are workers, which together are as large.
    fn parcels(&self, plan: &Plan) -> Result<(Digest, Vec<Parcel>), String> {
        let common = Arc::new(Blob::of_plan(plan)?);
        let whole = &plan.scenario.rows;
        let mut shared: Vec<Option<Arc<Blob>>> = vec![None; whole.len()];
        let mut parcels = Vec::new();
        for worker in self.present() {
            let part = plan.part(self.share(worker));
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

/// Sends these blobs to a worker, one chunk after another.
async fn send(
    bus: &ManagerBus,
    worker: u32,
    blobs: &[Arc<Blob>],
    on_the_way: &Semaphore,
) -> Result<(), ClusterError> {
    let mut sent: BTreeSet<&Digest> = BTreeSet::new();
    for blob in blobs.iter().filter(|blob| sent.insert(blob.digest())) {
        for chunk in blob.chunks() {
            // A chunk has less than 4 GiB.
            let bytes = chunk.bytes.len() as u32;
            let _turn = on_the_way.acquire_many(bytes).await.map_err(ClusterError::bus)?;
            let chunk = Command::Chunk(chunk);
            bus.command(worker, "a part of the plan", &chunk, CHUNK_LIMIT).await?;
        }
    }
    Ok(())
}
