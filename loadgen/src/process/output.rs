//! Writes to stdout and stderr, which may be closed at the other end.

use std::io::{self, Write};

use crate::failure::{Exit, Failure};
use crate::text::{ShownError, printable};

/// Prints the reason for a command's failure on stderr, and returns loadgen's exit code.
pub fn say_failure(failure: &Failure) -> Exit {
    say_error(&failure.report);
    failure.exit
}

/// Prints an error on stderr, with colours if stderr is a terminal.
fn say_error(error: &miette::Report) {
    let shown = ShownError::new(error.as_ref());
    let _ = writeln!(io::stderr(), "{shown}");
}

/// Prints a result on stdout.
pub fn print(text: &str) -> Result<(), Failure> {
    write_result(&mut io::stdout(), text).map_err(unprinted)
}

/// Writes a result, with control characters escaped that a terminal would obey. Returns no error if
/// the reader has gone, such as `head`, but returns an error if the disk is full.
pub fn write_result(out: &mut impl Write, text: &str) -> io::Result<()> {
    match out.write_all(printable(text).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Returns the failure for a result that could not be written.
pub fn unprinted(error: io::Error) -> Failure {
    let message = format!("cannot write the result to standard output: {error}");
    let help = "redirect standard output to a terminal, a file or a pipe";
    Failure::message(Exit::Failed, "unwritable_output", message, help)
}
