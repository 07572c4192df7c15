//! Provisional: guard and lab only.
#![expect(missing_docs, reason = "provisional")]
#[derive(clap::Parser)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(clap::Subcommand)]
pub enum Command {
    #[command(hide = true)]
    Guard(crate::commands::guard::GuardArgs),
    Lab(crate::commands::lab::LabArgs),
}
