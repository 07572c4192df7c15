//! The engine in the test's own process, against real servers: what is counted is what happened.

mod connecting;
mod goose_round;
mod once;
