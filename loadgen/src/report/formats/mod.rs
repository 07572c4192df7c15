//! Formats of a document: for people, programs, spreadsheets and pages.

pub mod csv;
pub mod hlog;
pub mod junit;
pub mod markdown;
pub mod terminal;
