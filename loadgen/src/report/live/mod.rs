//! The live view: shows on a terminal what a command is doing.
//!
//! - `view`: the known state, as plain data that events update. `seconds`, `workers` and `forecast`
//!   are parts of the view.
//! - `draw`: draws the screen as a function of the view and a moment. `panels` has the parts of the
//!   screen, `bars` the charts, and `look` the capabilities of a terminal.
//! - `screen`: the real terminal. No other file writes to the terminal or knows of it.

mod bars;
mod draw;
mod forecast;
mod look;
mod panels;
mod screen;
mod seconds;
#[cfg(test)]
mod tests;
mod view;
mod workers;

pub(super) use forecast::Forecast;
pub use screen::{Screen, is_in_front, is_open, leave};
pub(super) use seconds::Seconds;
pub(super) use view::View;
