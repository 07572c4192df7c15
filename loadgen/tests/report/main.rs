//! What people read, made from records built by hand.
#![allow(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod capacity;
mod compared;
mod containers;
mod formats;
mod html;
mod records;
mod run;
