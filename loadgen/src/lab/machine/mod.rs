//! The machine that the lab runs on: which CPUs and ports each part may use, which measurement may run, and what
//! the system counts of CPUs, network, processes and containers.

pub mod accounts;
pub(super) mod container;
pub(super) mod cpu_time;
pub mod cpus;
mod network;
pub mod ports;
pub(super) mod process_stat;
pub(super) mod turn;
