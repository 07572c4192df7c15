//! Something to know before believing a figure.

/// What was seen, and what to do about it or what else is known.
pub struct Warning {
    /// What was seen.
    pub what: String,
    /// What to do about it, or what else there is to say.
    pub more: Option<String>,
}
