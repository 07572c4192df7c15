//! Transports, one file each: how a request reaches the server and its answer comes back.

mod reqwest;

pub use reqwest::Transport;
