//! Tests scenario files: valid files, every way to write a wrong file, and arbitrary text.

mod bodies;
mod calls;
mod faults;
mod files;
mod properties;
mod tls;
