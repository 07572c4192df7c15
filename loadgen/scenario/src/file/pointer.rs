//! JSON pointers in a scenario file.

use std::ops::Range;

use super::reader::Faults;
use crate::error::Fault;

/// Adds a fault if `pointer` is not a JSON pointer (RFC 6901, section 3).
pub(super) fn check_pointer(pointer: &str, place: Range<usize>, faults: &mut Faults<'_>) {
    let fault = Fault::new(format!("`{pointer}` is not a JSON pointer"));
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let meant = pointer.trim_start_matches("$.").replace('.', "/");
        let help = format!("a JSON pointer begins with `/`; did you mean `/{meant}`?");
        faults.add(fault.at(place, "does not begin with `/`").help(help));
    } else if pointer.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])) {
        let help = "in a JSON pointer, write `~0` for `~` and `~1` for `/`";
        faults.add(fault.at(place, "`~` without `0` or `1`").help(help));
    }
}
