//! `content_type`: media types of bodies, and of fields in a form.

use super::keys::{Custom, matching};
use super::reader::{Faults, Value};
use crate::body::Attachment;

/// A media type.
pub(super) const KIND: Custom = matching("printable ASCII string", "^[ -~]*[!-~][ -~]*$");

/// Reads a media type.
pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let text = value.name(faults)?;
    if !text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        return value.fault(
            "`content_type` must be printable ASCII",
            "not a media type",
            "",
            faults,
        );
    }
    Some(text.to_owned())
}

/// Returns the media type that the name of the file suggests.
pub(super) fn of_file(file: &Attachment) -> String {
    mime_guess::from_path(&file.path).first_or_octet_stream().essence_str().to_owned()
}
