//! Lays out documents for people at a terminal.

mod capacity;
mod comparison;
mod run;

pub use capacity::capacity;
pub use comparison::comparison;
pub use run::run;
