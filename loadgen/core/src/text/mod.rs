//! Text for people: numbers, lines and columns, errors, and what a terminal must not obey.

mod error;
mod layout;
mod numbers;
mod printable;
mod table;

pub use error::ShownError;
pub use layout::{COLUMNS, paragraphs, wrap};
pub use numbers::{count, duration, megabytes, milliseconds, precise, rate};
pub use printable::{in_one_line, is_obeyed, printable, printable_json, say};
pub use table::lay_out;
