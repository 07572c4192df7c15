//! The live view: what a command does now, on a terminal.
//!
//! - `view`: what is known; plain data, fed by what happens. `seconds`, `workers` and `forecast` are parts of
//!   it.
//! - `draw`: the screen as a function of the view and a moment; `panels` has its parts, `bars` the charts,
//!   and `look` what a terminal can show.
//! - `screen`: the real terminal. No other file writes to it, or knows of it.

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

pub use forecast::Forecast;
pub use screen::{Screen, is_in_front, is_open, leave};
pub use seconds::Seconds;
pub use view::View;
