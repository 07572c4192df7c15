//! Load models, one file each: pure functions of the time elapsed, without a clock inside.

mod closed;

pub use closed::{Closed, Turn};
