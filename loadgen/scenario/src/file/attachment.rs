//! `file`: a file whose content a body has.

use std::io::ErrorKind;

use super::reader::{Faults, Value};
use crate::body::{Attachment, Content};
use crate::bounded::read_at_most;
use crate::on_disk::OnDisk;

/// Largest file, in bytes, that each process keeps in memory, and that workers receive with the scenario.
const LARGEST_KEPT: u64 = 16 << 20;

/// Finds the file whose path is `value`, relative to the folder of the scenario. Reads it, unless it is
/// larger than what processes keep.
pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Attachment> {
    let path = value.name(faults)?;
    let place = faults.folder.join(path);
    let content = match read_at_most(LARGEST_KEPT, &place) {
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            OnDisk::find(&place).map(Content::OnDisk)
        }
        read => read.map(|bytes| Content::Kept(bytes.into())),
    };
    match content {
        Ok(content) => Some(Attachment::new(path, content)),
        Err(error) => {
            let help = "name a file, relative to this file";
            value.fault(format!("cannot read {path}: {error}"), "this file", help, faults)
        }
    }
}
