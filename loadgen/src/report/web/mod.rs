//! The live page: shows in browsers what a command is doing, and becomes the report when it has ended.
//!
//! - `past`: what happened so far, of which each viewer is told once. `now`: what is known now.
//! - `page`: the page, whose script and style are in `assets/`.
//! - `access`: who may see the page, and who may change the load.
//! - `server`: serves the page. `viewer`: a browser that shows it, and what it is told. `shared`: the state
//!   that they share.
//!
//! The page is served by a thread of its own, on Linux at the lowest priority, for which nobody waits: what
//! happens is sent to it, and what is known is borrowed for a moment once a second. A viewer who does not
//! read is told nothing more until it does; only one message is kept for it.

mod access;
mod now;
mod page;
mod past;
mod server;
mod shared;
#[cfg(test)]
mod tests;
mod viewer;

pub use access::{Answer, Controls};
pub(super) use past::Entry;
pub use server::LivePage;
