//! Scenarios: TOML as written, to a validated model.
//!
//! [`load`] reads a file, checks all of it, and gives either a [`Scenario`] that the rest of the
//! program can trust or one [`ScenarioError`] that shows every fault at its line.

mod data;
mod duration;
mod model;
mod nearest;
mod placeholder;
mod template;
mod threshold;

pub use data::Data;
pub use model::{Backend, Body, Counter, Expect, Load, Method, OnError, Scenario, Step, Until};
pub use template::Template;
pub use threshold::Threshold;
