//! The live page, which everything that measures may have.

use clap::Args;

use crate::report::ServeAddress;

/// Where a live page is served, and what it may do.
#[derive(Debug, Clone, Args)]
pub struct WebArgs {
    /// Serve a page that shows in browsers what happens, and becomes the report at the end. ADDRESS is
    /// HOST:PORT, HOST, or PORT of this host only; 127.0.0.1 with a free port without ADDRESS. Whoever
    /// reaches the address may see the page.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1")]
    pub web: Option<ServeAddress>,
    /// Also print a URL of the page with which viewers may change the load, and end the command.
    #[arg(long, requires = "web")]
    pub web_control: bool,
}
