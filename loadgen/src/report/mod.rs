//! What a person or a program reads of a run. Everything here reads the run record and writes
//! text, or, in `progress` and `live`, shows what goes on; nothing measures or decides.

mod bottlenecks;
mod capacity;
mod changes;
mod conclusion;
mod containers;
mod csv;
mod degraded;
mod differences;
mod efficiency;
mod format;
mod headline;
mod hlog;
mod html;
mod json;
mod junit;
mod live;
mod markdown;
mod matrix;
mod progress;
mod proofs;
mod ranked;
mod ratio;
mod rows;
mod runs;
mod table;
mod terminal;
mod thresholds;
mod warnings;
mod workers;

pub use self::csv::{capacity_csv, csv};
pub use capacity::capacity;
pub use changes::changed;
pub use containers::in_words;
pub use format::{count, duration, milliseconds, quantity, rate};
pub use hlog::hlog;
pub use html::{capacity_html, html};
pub use json::json;
pub use junit::junit;
pub use live::{is_in_front, is_open as is_live, leave as leave_terminal};
pub use markdown::{capacity_markdown, markdown};
pub use progress::Progress;
pub use proofs::in_short;
pub use runs::{compared, compared_csv, compared_markdown};
pub use terminal::terminal;
