//! The real binary, as people call it: its output, the files that it leaves, and the ways it ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed helper is a failed test"
)]

#[path = "../common/mod.rs"]
mod common;

mod account;
mod addresses;
mod build;
mod check;
mod cli;
mod cluster_experiment;
mod cluster_targets;
mod comparison;
mod completions;
mod connections;
mod control;
mod disturbed;
mod document;
mod duet;
mod endless;
mod environment;
mod experiment;
mod fail_fast;
mod first_day;
mod found_servers;
mod gate;
mod grpc;
mod held_up;
mod home;
mod host_limits;
mod hostile;
mod hosts;
mod in_flight;
mod init;
mod interrupt;
mod junit;
mod lab;
mod left_out;
mod live;
mod login;
mod man;
mod matrix;
mod own_targets;
mod precision;
mod probe;
mod profile;
mod promises;
mod proofs;
mod quick_form;
mod real_servers;
mod refs;
mod renewed;
mod replicas;
mod resumed;
mod round_steps;
mod rows;
mod saved;
mod site;
mod slices;
mod sockets;
mod ssh_hosts;
mod stages;
mod telemetry;
mod turns;
mod unlike;
mod unused;
mod uploads;
mod url;
mod verification;
mod web;
mod websocket;
