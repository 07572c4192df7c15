//! Reserves standard output for the result.

use std::fs::{File, OpenOptions};
use std::io;

use super::output::write_result;

/// Standard output, out of reach of the rest of the process. Goose prints how many users it has
/// launched, regardless of its configuration, and such lines must not end up in a JSON document.
pub struct Stdout(File);

impl Stdout {
    /// Takes standard output away from the rest of the process, whose
    /// output then goes to `/dev/null`.
    pub fn reserve() -> io::Result<Self> {
        let own = rustix::io::dup(io::stdout())?;
        let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(nowhere)?;
        Ok(Self(own.into()))
    }

    /// Writes the result. A reader that has gone is no error.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        write_result(&mut self.0, text)
    }
}
