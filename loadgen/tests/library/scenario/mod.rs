//! Tests scenario files: valid files, every way to write a wrong file, and arbitrary text.

mod faults;
mod files;
mod properties;
