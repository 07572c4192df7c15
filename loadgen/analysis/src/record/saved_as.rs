//! Defines what all records that are saved have in common.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A record that is saved, in a file of its own.
pub trait SavedAs: Serialize + DeserializeOwned {
    /// Name of the file.
    const FILE: &str;
    /// Name and version of the document's format. The number increases when a field changes meaning.
    const SCHEMA: &str;
}
