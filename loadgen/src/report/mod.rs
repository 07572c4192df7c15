//! What a person or a program reads: documents in each [`Format`], and, in `progress` and `live`, what goes on.
//! Nothing here measures or decides.
//!
//! - `document`: every document in every format. `formats`: how each is laid out; `html`: the page.
//! - `words`: sentences that all formats share.
//! - `progress`: what is being done, in lines; `live`: the same on a terminal, as it changes.

mod document;
mod formats;
pub mod html;
mod live;
mod progress;
mod words;

pub use document::{Document, Format};
pub use formats::hlog::hlog;
pub use formats::junit::junit;
pub use live::{is_in_front, is_open as is_live, leave as leave_terminal};
pub use progress::Progress;
