//! Writing to stdout and stderr, which somebody may have closed.

use std::io::{self, Write};

use crate::failure::{Exit, Failure};
use crate::text::{ShownError, printable};

/// Says why a command ended on stderr, and gives what loadgen exits with.
pub fn say_failure(failure: &Failure) -> Exit {
    say_error(&failure.report);
    failure.exit
}

/// Says an error on stderr, with its colours where there is a terminal.
fn say_error(error: &miette::Report) {
    let shown = ShownError::new(error.as_ref());
    let _ = writeln!(io::stderr(), "{shown}");
}

/// Prints a result on stdout.
pub fn print(text: &str) -> Result<(), Failure> {
    write_result(&mut io::stdout(), text).map_err(unprinted)
}

/// Writes a result, of which a terminal would obey nothing. That its reader has gone, as `head` does, is no
/// fault; a full disk is one.
pub fn write_result(out: &mut impl Write, text: &str) -> io::Result<()> {
    match out.write_all(printable(text).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// For a result that could not be written.
pub fn unprinted(error: io::Error) -> Failure {
    let message = format!("cannot write the result to standard output: {error}");
    Failure::message(Exit::Failed, message, "let it lead elsewhere")
}
