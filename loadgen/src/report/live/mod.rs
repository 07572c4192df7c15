//! The live view: shows on a terminal what a command is doing.
//!
//! - `draw`: draws the screen as a function of the view and a moment. `panels` has the parts of the
//!   screen, `bars` the charts, and `look` the capabilities of a terminal.
//! - `screen`: the real terminal. No other file writes to the terminal or knows of it.

mod bars;
mod draw;
mod look;
mod panels;
mod screen;
#[cfg(test)]
mod tests;

pub use screen::{Screen, is_in_front, is_open, leave};
