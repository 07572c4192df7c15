//! Formats text for people: numbers, lines, tables and errors. Escapes what a terminal would obey.

mod error;
mod layout;
mod numbers;
mod printable;
mod shorten;
mod table;

pub use error::{ShownError, with_code};
pub use layout::{COLUMNS, paragraphs, wrap, wrap_within};
pub use numbers::{
    count, counted, duration, limits, megabytes, milliseconds, precise, rate, tenths,
};
pub use printable::{in_one_line, is_obeyed, printable, printable_json, say};
pub use shorten::{broken, cut, listed, shorten};
pub use table::lay_out;
