//! The body of a request, which is in memory, or in files that are read while it is sent.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes};

use super::Failure;
use loadgen_measure::ErrorKind;
use loadgen_scenario::OnDisk;

/// Number of bytes that are read from a file at once.
const CHUNK: usize = 128 << 10;

/// A body, or what is still to be sent of it. A clone shares the bytes and the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestBody {
    /// The next bytes; empty if all is sent, or if they have not been read yet.
    next: Bytes,
    /// The pieces after these; `None` without any. Boxed, because most bodies are in one place.
    later: Option<Box<Later>>,
}

/// Pieces, at least one. None is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Later {
    pieces: VecDeque<Piece>,
    /// Number of bytes of all pieces.
    length: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Bytes(Bytes),
    /// The bytes of a file from this one on.
    OnDisk(OnDisk, u64),
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::OnDisk(file, at) => file.length().saturating_sub(*at),
        }
    }
}

impl From<Bytes> for RequestBody {
    fn from(next: Bytes) -> Self {
        Self { next, later: None }
    }
}

impl RequestBody {
    /// Number of bytes.
    pub fn length(&self) -> u64 {
        self.next.len() as u64 + self.later.as_ref().map_or(0, |later| later.length)
    }

    pub fn is_empty(&self) -> bool {
        self.next.is_empty() && self.later.is_none()
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: Bytes) {
        match self.is_empty() {
            true => self.next = bytes,
            false => self.push_piece(Piece::Bytes(bytes)),
        }
    }

    /// Appends another body.
    pub fn append(&mut self, other: Self) {
        self.push(other.next);
        let pieces = other.later.into_iter().flat_map(|later| later.pieces);
        pieces.for_each(|piece| self.push_piece(piece));
    }

    /// Appends a file.
    pub fn push_file(&mut self, file: &OnDisk) {
        self.push_piece(Piece::OnDisk(file.clone(), 0));
    }

    fn push_piece(&mut self, piece: Piece) {
        let length = piece.length();
        if length > 0 {
            let empty = || Box::new(Later { pieces: VecDeque::new(), length: 0 });
            let later = self.later.get_or_insert_with(empty);
            later.pieces.push_back(piece);
            later.length += length;
        }
    }

    /// Returns the next bytes, which may be read for it; empty if all is sent.
    pub fn next(&mut self) -> Result<&Bytes, Failure> {
        if self.next.is_empty()
            && let Some(later) = &mut self.later
            && let Some(piece) = later.pieces.front_mut()
        {
            self.next = match piece {
                Piece::Bytes(bytes) => bytes.clone(),
                Piece::OnDisk(file, at) => read(file, *at).map_err(unreadable)?,
            };
            let length = self.next.len() as u64;
            match piece {
                Piece::OnDisk(file, at) if *at + length < file.length() => *at += length,
                _ => drop(later.pieces.pop_front()),
            }
            later.length -= length;
            if later.pieces.is_empty() {
                self.later = None;
            }
        }
        Ok(&self.next)
    }

    /// Returns the next bytes as far as they are in memory.
    pub fn ready(&self) -> &[u8] {
        &self.next
    }

    /// Leaves out so many of the next bytes, which are in memory.
    pub fn advance(&mut self, by: usize) {
        self.next.advance(by);
    }

    /// Returns all bytes, in one place.
    pub fn into_bytes(mut self) -> Result<Bytes, Failure> {
        if self.later.is_none() {
            return Ok(self.next);
        }
        let mut all = Vec::new();
        while !self.is_empty() {
            all.extend_from_slice(&self.take(usize::MAX)?);
        }
        Ok(all.into())
    }

    /// Takes the next bytes, at most so many; empty if all is sent.
    pub fn take(&mut self, most: usize) -> Result<Bytes, Failure> {
        let here = self.next()?.len().min(most);
        Ok(self.next.split_to(here))
    }
}

/// Reads the next part of a file.
fn read(file: &OnDisk, at: u64) -> io::Result<Bytes> {
    let length = usize::try_from(file.length() - at).unwrap_or(usize::MAX).min(CHUNK);
    let mut bytes = vec![0; length];
    file.read_at(at, &mut bytes)?;
    Ok(bytes.into())
}

/// The server has nothing to do with it.
fn unreadable(error: io::Error) -> Failure {
    Failure::new(ErrorKind::Expectation, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_taken_piece_by_piece_and_a_clone_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        let path = folder.path().join("film");
        std::fs::write(&path, &content).unwrap();
        let mut body = RequestBody::default();
        body.push(Bytes::from_static(b"head"));
        body.push_file(&OnDisk::find(&path).unwrap());
        body.push(Bytes::new());
        body.push(Bytes::from_static(b"tail"));
        let whole = [b"head", &content[..], b"tail"].concat();
        let again = body.clone();
        for (mut body, most) in [(body, 1_000), (again, usize::MAX)] {
            assert_eq!(body.length(), whole.len() as u64);
            let mut taken = Vec::new();
            while !body.is_empty() {
                let part = body.take(most).unwrap();
                assert!(!part.is_empty() && part.len() <= most.min(CHUNK));
                taken.extend_from_slice(&part);
                assert_eq!(body.length(), (whole.len() - taken.len()) as u64);
            }
            assert!(taken == whole, "{} bytes", taken.len());
            assert!(body.take(most).unwrap().is_empty());
        }
    }
}
