//! Writes the files of a run on a thread of its own.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use super::files::Files;

/// Number of files that wait while another one is written: one round over a contender. Limits the memory that a slow disk
/// takes.
const WAITING: usize = 1;

/// Writes files in the order in which they are given, so that the workers do not wait for the disk between rounds: each
/// file is flushed twice, which takes some milliseconds on most disks, and seconds on some. Dropping it waits for the last
/// file.
#[derive(Debug)]
pub struct Writer {
    files: Arc<Files>,
    /// `None` once no further file follows.
    queue: Option<SyncSender<(String, Vec<u8>)>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<OnceLock<String>>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system has no room for a thread.
    pub fn new(files: Arc<Files>) -> io::Result<Self> {
        let (queue, queued) = sync_channel(WAITING);
        let failure = Arc::default();
        let of_thread = (files.clone(), Arc::clone(&failure));
        let work = move || write_all(&of_thread.0, &queued, &of_thread.1);
        let thread = thread::Builder::new().name("loadgen-resume".to_owned()).spawn(work)?;
        Ok(Self { files, queue: Some(queue), thread: Some(thread), failure })
    }

    /// Replaces a file after all earlier ones. Waits only if two earlier ones are not written yet. Does nothing after a
    /// failure, because a round is of no use without those before it.
    pub fn write(&self, name: String, bytes: Vec<u8>) {
        if let Some(queue) = &self.queue {
            // The thread ends after a failure.
            let _ = queue.send((name, bytes));
        }
    }

    /// Returns the reason why a file could not be written, if any.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Returns the files after the last one is written.
    pub fn end(self) -> Arc<Files> {
        self.files.clone()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}

fn write_all(files: &Files, queued: &Receiver<(String, Vec<u8>)>, failure: &OnceLock<String>) {
    for (name, bytes) in queued {
        if let Err(error) = files.write(&name, &bytes) {
            let _ = failure.set(error.to_string());
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::run::resume::files::encode;

    #[test]
    fn files_are_written_in_their_order_until_one_fails() {
        let run = tempfile::tempdir().unwrap();
        let writer = Writer::new(Arc::new(Files::create(run.path()).unwrap())).unwrap();
        let bytes = |value: u32| encode(&value).unwrap();
        (0..20).for_each(|value| writer.write("a".to_owned(), bytes(value)));
        assert_eq!(writer.failure(), None);
        let files = writer.end();
        assert_eq!(files.read::<u32>("a"), Ok(19), "the last one, which is whole");
        let writer = Writer::new(files).unwrap();
        writer.write("b".to_owned(), bytes(1));
        writer.write("no/folder".to_owned(), bytes(2));
        (0..9).for_each(|_| writer.write("c".to_owned(), bytes(3)));
        let failure = writer.failure.clone();
        assert_eq!(writer.end().names().unwrap(), ["a", "b"], "nothing follows the failure");
        let told = failure.get().unwrap();
        assert!(told.contains("No such file or directory"), "{told}");
    }
}
