//! Output for people and programs: documents in each [`Format`], and the progress of a command.
//! This module neither measures nor decides.
//!
//! - `document`: every document in every format. `formats`: the layout of each; `html`: the page.
//!   `reported`: the document and the page of each kind of record.
//! - `svg`: charts of claims, of arms and of histories, on the page and as pictures. `site`: the history of many
//!   results, as pages.
//! - `words`: sentences that all formats share.
//! - `view`: what is known of a command in progress. `progress`: updates the view, and shows it in plain
//!   lines. `live`: shows the view on a terminal. `web`: shows it in browsers.
//! - `telemetry`: tells Prometheus and collectors of OpenTelemetry what was measured so far. `listen`: what
//!   the servers of loadgen share.

mod document;
mod formats;
pub mod html;
mod listen;
mod live;
mod progress;
mod reported;
pub mod site;
mod svg;
pub mod telemetry;
mod view;
mod web;
mod words;

pub use document::{Document, Format};
pub use formats::hlog::hlog;
pub use formats::junit::{junit, junit_of_comparison};
pub use listen::ServeAddress;
pub use live::{is_in_front, is_open as is_live, leave as leave_terminal};
pub use progress::Progress;
pub use reported::Reported;
pub use view::PlannedLoad;
pub use web::{Answer, Controls, LivePage};
pub use words::title::title;
