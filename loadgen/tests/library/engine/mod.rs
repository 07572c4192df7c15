//! Tests the engine against real servers, in the test's own process
//! except for one test in `once.rs`: the counts must match what happened.

mod connecting;
mod flows;
mod goose_round;
mod once;
