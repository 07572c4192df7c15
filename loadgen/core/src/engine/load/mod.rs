//! Load models, one file each: pure functions of the time elapsed, without a clock inside.

mod closed;
mod level;
mod open;
mod planned;

pub use closed::{Closed, Turn};
pub use open::{Arrival, Open};
pub use planned::Planned;
