//! Output for people and programs: documents in each [`Format`], and the progress of a command.
//! This module neither measures nor decides.
//!
//! - `document`: every document in every format. `formats`: the layout of each; `html`: the page.
//!   `reported`: the document and the page of each kind of record.
//! - `svg`: charts of claims and of arms, on the page and as pictures.
//! - `words`: sentences that all formats share.
//! - `progress`: shows the current activity in plain lines. `live`: shows the current activity on a
//!   terminal, and updates the screen when the activity changes.

mod document;
mod formats;
pub mod html;
mod live;
mod progress;
mod reported;
mod svg;
mod words;

pub use document::{Document, Format};
pub use formats::hlog::hlog;
pub use formats::junit::{junit, junit_of_comparison};
pub use live::{is_in_front, is_open as is_live, leave as leave_terminal};
pub use progress::Progress;
pub use reported::Reported;
