//! Lays out documents for people at a terminal.

mod answer;
mod capacity;
mod comparison;
mod experiment;
mod run;

pub(crate) use capacity::capacity;
pub(crate) use comparison::comparison;
pub(crate) use experiment::experiment;
pub(crate) use run::run;
