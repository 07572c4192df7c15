//! Formats of a document: for people, programs, spreadsheets and pages.

pub(super) mod csv;
pub(super) mod hlog;
pub(super) mod junit;
pub(super) mod markdown;
pub(super) mod terminal;
