//! `file`: a file whose content a body has.

use std::fs::File;
use std::io::Read;

use super::reader::{Faults, Value};
use crate::scenario::body::Attachment;

/// Largest file, in bytes. Each process keeps the file in memory, and workers receive it with the
/// scenario.
const LARGEST: u64 = 16 << 20;

/// Reads the file whose path is `value`, relative to the folder of the scenario.
pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Attachment> {
    let path = value.name(faults)?;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(faults.folder.join(path))?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) if bytes.len() as u64 > LARGEST => {
            let help = "each process keeps the file in memory: send a smaller file";
            value.fault(format!("{path} is larger than 16 MiB"), "this file", help, faults)
        }
        Ok(bytes) => Some(Attachment::new(path, bytes)),
        Err(error) => {
            let help = "name a file, relative to this file";
            value.fault(format!("cannot read {path}: {error}"), "this file", help, faults)
        }
    }
}
