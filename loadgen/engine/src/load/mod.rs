//! Holds the load models, one file each: pure functions of the elapsed
//! time, without a clock inside.

mod closed;
mod open;
mod planned;
mod profile;
mod total;

pub use closed::{Closed, Turn};
pub use open::{Arrival, Open};
pub use planned::Planned;
pub use total::planned_requests;
