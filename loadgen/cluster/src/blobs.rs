//! Transfers the bulk of a round, its plan and rows, by digest: each blob is sent to each worker
//! once, in chunks, and commands refer to the blob by its digest.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::encoding::{decode, encode};
use super::hex::hex;
use loadgen_engine::{Plan, Share};
use loadgen_scenario::Cells;

/// Maximum size of a chunk in bytes: far less than the network accepts in one message.
pub(super) const CHUNK: usize = 1 << 20;

/// A SHA-256 digest in hexadecimal.
pub(super) type Digest = String;

/// A value encoded as bytes for sending, with the digest of the bytes.
pub(super) struct Blob {
    digest: Digest,
    bytes: Vec<u8>,
}

impl Blob {
    /// Encodes a value as MessagePack.
    ///
    /// # Errors
    /// Returns an error message if MessagePack can't represent the value.
    pub(super) fn of(value: &impl Serialize) -> Result<Self, String> {
        let bytes = encode(value)?;
        Ok(Self { digest: hex(&Sha256::digest(&bytes)), bytes })
    }

    /// Encodes the part of a plan that all workers have in common: everything except the workers'
    /// shares of the load and the cells of the plan's data rows.
    ///
    /// # Errors
    /// See [`Blob::of`].
    pub(super) fn of_plan(plan: &Plan) -> Result<Self, String> {
        Self::of(&Plan { share: Share::WHOLE, ..plan.clone() })
    }

    /// Returns the digest of the encoded bytes.
    #[must_use]
    pub(super) fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Splits the blob into chunks. The iterator copies each chunk's bytes
    /// only when it yields the chunk.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Chunk> {
        let size = self.bytes.len();
        self.bytes.chunks(CHUNK).enumerate().map(move |(n, bytes)| Chunk {
            blob: self.digest.clone(),
            size,
            offset: n * CHUNK,
            bytes: bytes.to_vec(),
        })
    }
}

/// A part of a blob. A blob is a value encoded for sending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Digest of the whole blob.
    pub blob: Digest,
    /// Size of the whole blob in bytes.
    pub size: usize,
    /// Position of this part in the blob, in bytes.
    pub offset: usize,
    /// Contents of this part, at most [`CHUNK`] bytes.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// A worker's part of a round: plan, data rows, and share of the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Digest of the encoded plan.
    pub plan: Digest,
    /// Digests of this worker's encoded data rows, one for each of the plan's
    /// files, in the order of the files.
    pub rows: Vec<Digest>,
    /// Share of the test's load that this worker generates.
    pub share: Share,
}

/// Encoded plans and data rows (blobs) that a worker has received. Retains the
/// blobs that the newest assignment names.
#[derive(Default)]
pub struct Blobs {
    arriving: Option<Arriving>,
    packed: BTreeMap<Digest, Vec<u8>>,
    rows: BTreeMap<Digest, Arc<Cells>>,
}

/// A blob of which only the first chunks have arrived.
struct Arriving {
    blob: Digest,
    bytes: Vec<u8>,
    /// Digest of `bytes`, updated with each chunk: to hash the whole blob
    /// at once would block the worker.
    so_far: Sha256,
}

impl Blobs {
    /// Takes the next chunk. A chunk at offset zero starts a new blob, even if
    /// the previous blob is incomplete.
    ///
    /// # Errors
    /// Returns an error message if earlier chunks are missing, or if a
    /// complete blob does not match its digest.
    pub fn take(&mut self, chunk: Chunk) -> Result<(), String> {
        let Chunk { blob, size, offset, bytes } = chunk;
        let mut arriving = match self.arriving.take() {
            _ if offset == 0 => Arriving::new(blob, size)?,
            Some(known) if known.blob == blob && known.bytes.len() == offset => known,
            _ => return Err(format!("the bytes before byte {offset} of {blob} are missing")),
        };
        arriving.so_far.update(&bytes);
        arriving.bytes.extend_from_slice(&bytes);
        if arriving.bytes.len() < size {
            self.arriving = Some(arriving);
            return Ok(());
        }
        let Arriving { blob, bytes, so_far } = arriving;
        if hex(&so_far.finalize()) != blob {
            return Err(format!("the {} bytes that arrived do not match {blob}", bytes.len()));
        }
        self.packed.insert(blob, bytes);
        Ok(())
    }

    /// Decodes the plan and the data rows that `assignment` names, sets the worker's share of
    /// the load, and drops all other blobs.
    ///
    /// # Errors
    /// Returns an error message if a blob that the assignment names has not
    /// arrived or is not of the expected kind.
    pub fn plan(&mut self, assignment: &Assignment) -> Result<Plan, String> {
        let packed = self.packed.get(&assignment.plan).ok_or("the plan has not arrived")?;
        let mut plan: Plan = decode(packed)?;
        plan.share = assignment.share;
        let (files, named) = (&mut plan.scenario.rows, &assignment.rows);
        if files.len() != named.len() {
            return Err(format!("the plan has {} files of rows, not {}", files.len(), named.len()));
        }
        for (file, digest) in files.iter_mut().zip(named) {
            file.cells =
                self.cells(digest).map_err(|why| format!("rows of {}: {why}", file.name))?;
        }
        self.packed.retain(|digest, _| *digest == assignment.plan);
        self.rows.retain(|digest, _| assignment.rows.contains(digest));
        Ok(plan)
    }

    /// Returns the data rows with this digest. Decodes the rows at the first call only.
    fn cells(&mut self, digest: &Digest) -> Result<Arc<Cells>, String> {
        if let Some(cells) = self.rows.get(digest) {
            return Ok(cells.clone());
        }
        let packed = self.packed.remove(digest).ok_or("the rows have not arrived")?;
        let cells = Arc::new(decode::<Cells>(&packed)?);
        self.rows.insert(digest.clone(), cells.clone());
        Ok(cells)
    }
}

impl Arriving {
    fn new(blob: Digest, size: usize) -> Result<Self, String> {
        let (mut bytes, so_far) = (Vec::new(), Sha256::new());
        match bytes.try_reserve_exact(size) {
            Ok(()) => Ok(Self { blob, bytes, so_far }),
            Err(_) => Err(format!("not enough memory for {size} bytes")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, rows};

    /// Passes a blob to the receiver `to` in encoded chunks, as the network does.
    fn send(blob: &Blob, to: &mut Blobs) {
        for chunk in blob.chunks() {
            assert!(chunk.bytes.len() <= CHUNK);
            to.take(decode(&encode(&chunk).unwrap()).unwrap()).unwrap();
        }
    }

    fn blobs_of(plan: &Plan) -> (Blob, Vec<Blob>) {
        let rows = plan.scenario.rows.iter().map(|rows| Blob::of(&*rows.cells).unwrap());
        (Blob::of_plan(plan).unwrap(), rows.collect())
    }

    #[test]
    fn a_plan_and_its_rows_arrive_unchanged() {
        let mut whole = plan("http://127.0.0.1:1", 3);
        // `large` takes more than two chunks, `small` less than one.
        whole.scenario.rows =
            vec![rows("large", "cycle", 30_000, 100), rows("small", "once", 11, 2)];
        let mut worker = Blobs::default();
        for index in 0..2 {
            let part = whole.part(Share { index, of: 2 });
            let (packed, rows) = blobs_of(&part);
            let digests = rows.iter().map(|blob| blob.digest.clone()).collect();
            let assignment =
                Assignment { plan: packed.digest.clone(), rows: digests, share: part.share };
            assert!(worker.plan(&assignment).is_err(), "it has not arrived");
            for blob in [&packed].into_iter().chain(&rows) {
                send(blob, &mut worker);
            }
            assert!(worker.plan(&assignment).unwrap() == part);
            assert!(worker.plan(&assignment).unwrap() == part, "twice is once");
            // A blob that is sent again costs its transfer only.
            send(&packed, &mut worker);
            assert_eq!((worker.packed.len(), worker.rows.len()), (1, 2));
        }
    }

    #[test]
    fn the_message_of_a_chunk_is_hardly_larger_than_its_bytes() {
        let blob = Blob::of(&"x".repeat(3 * CHUNK)).unwrap();
        let sizes: Vec<usize> = blob.chunks().map(|chunk| encode(&chunk).unwrap().len()).collect();
        assert_eq!(sizes.len(), 4);
        assert!(sizes.iter().all(|size| *size < CHUNK + 200), "{sizes:?}");
    }

    #[test]
    fn missing_or_altered_chunks_are_refused() {
        let blob = Blob::of(&"x".repeat(2 * CHUNK)).unwrap();
        let chunks: Vec<Chunk> = blob.chunks().collect();
        let mut worker = Blobs::default();
        let missing = worker.take(chunks[1].clone()).unwrap_err();
        assert_eq!(
            missing,
            format!("the bytes before byte 1048576 of {} are missing", blob.digest)
        );
        let mut other = chunks.clone();
        other[1].bytes[7] ^= 1;
        worker.take(other[0].clone()).unwrap();
        worker.take(other[1].clone()).unwrap();
        let wrong = worker.take(other[2].clone()).unwrap_err();
        assert_eq!(wrong, format!("the 2097157 bytes that arrived do not match {}", blob.digest));
        assert!(worker.packed.is_empty());
        let huge = Chunk { size: usize::MAX, ..chunks[0].clone() };
        assert!(worker.take(huge).unwrap_err().starts_with("not enough memory for"));
        // The transfer can start again from the first chunk.
        send(&blob, &mut worker);
        assert_eq!(worker.packed.len(), 1);
    }

    #[test]
    fn rows_without_a_place_in_the_plan_are_refused() {
        let mut worker = Blobs::default();
        let packed = Blob::of_plan(&plan("http://127.0.0.1:1", 3)).unwrap();
        send(&packed, &mut worker);
        let mut assignment =
            Assignment { plan: packed.digest.clone(), rows: Vec::new(), share: Share::WHOLE };
        assert!(worker.plan(&assignment).is_ok());
        assignment.rows.push(packed.digest.clone());
        assert_eq!(worker.plan(&assignment).unwrap_err(), "the plan has 0 files of rows, not 1");
    }

    #[test]
    fn all_parts_of_a_plan_share_a_digest_that_other_plans_lack() {
        let whole = plan("http://127.0.0.1:1", 3);
        let digest = |plan: &Plan| Blob::of_plan(plan).unwrap().digest;
        assert_eq!(digest(&whole).len(), 64);
        for index in 0..3 {
            assert_eq!(digest(&whole.part(Share { index, of: 3 })), digest(&whole));
        }
        let mut others = [whole.clone(), whole.clone(), whole.clone()];
        others[0].seed += 1;
        others[1].scenario.load.users += 1;
        others[2].base_url.push('2');
        assert!(others.iter().all(|other| digest(other) != digest(&whole)));
    }
}
