//! Targets at refs of Git, in real repositories: which code runs where, and that the user's repository
//! and working tree stay as they are.

mod blamed;
mod code;
mod ends;
mod errors;
mod repositories;
mod runs;
mod support;
