//! Embeds `lab/` again if a file is added there or removed: the macro that embeds it in
//! `src/lab/embedded.rs` tells Cargo only of the files that it finds.

#![allow(clippy::print_stdout, reason = "Cargo reads standard output")]

fn main() {
    println!("cargo::rerun-if-changed=lab");
}
