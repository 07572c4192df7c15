//! `file`: a file whose content a body has.

use std::io::ErrorKind;

use super::reader::{Faults, Value};
use crate::body::Attachment;
use crate::bounded::read_at_most;

/// Largest file, in bytes. Each process keeps the file in memory, and workers receive it with the
/// scenario.
const LARGEST: u64 = 16 << 20;

/// Reads the file whose path is `value`, relative to the folder of the scenario.
pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Attachment> {
    let path = value.name(faults)?;
    match read_at_most(LARGEST, &faults.folder.join(path)) {
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
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
