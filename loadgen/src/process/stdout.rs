//! Reserves standard output for the result.

use std::fs::{File, OpenOptions};
use std::io;

use super::output::{columns_of, say_if_narrow, write_result};

/// Standard output, reserved for the result. The rest of the process cannot write to standard
/// output. Goose prints how many users it has launched, regardless of its configuration, and such
/// lines must not end up in a JSON document.
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

    /// Returns the columns for the lines of a report.
    #[must_use]
    pub fn columns(&self) -> usize {
        columns_of(&self.0)
    }

    /// Writes the result. Returns no error if the reader has gone.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        write_result(&mut self.0, text)?;
        say_if_narrow(&self.0, text);
        Ok(())
    }
}
