//! Scenario files: those that are right, every way to get one wrong, and any text at all.

mod faults;
mod files;
mod properties;
