//! Standard output, kept for the result.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// Standard output, out of everybody else's reach: Goose prints how many users it has launched,
/// whatever its configuration says, and that must not end up in a JSON document.
pub struct Stdout(File);

impl Stdout {
    /// Takes standard output away from the rest of the process.
    pub fn reserve() -> io::Result<Self> {
        let own = rustix::io::dup(io::stdout())?;
        let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(nowhere)?;
        Ok(Self(own.into()))
    }

    /// Writes the result. A reader that has gone, such as `head`, is no fault of the run's.
    pub fn print(&mut self, text: &str) {
        let _ = self.0.write_all(text.as_bytes()).and_then(|()| self.0.flush());
    }
}
