//! What a person or a program reads of a run. Everything here reads the run record and writes
//! text; nothing measures or decides.

mod columns;
mod conclusion;
mod efficiency;
mod format;
mod json;
mod matrix;
mod progress;
mod ranked;
mod ratio;
mod terminal;

pub use format::{count, duration, milliseconds, rate};
pub use json::json;
pub use progress::Progress;
pub use terminal::terminal;
