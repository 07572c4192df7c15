//! Writing to stdout and stderr, which somebody may have closed.

use std::fmt::Display;
use std::io::{self, Write};

use super::{Exit, Failure};

/// Says something on stderr. Unlike with `eprintln!`, nobody needs to listen.
pub fn say(what: impl Display) {
    let _ = writeln!(io::stderr(), "{what}");
}

/// Prints a result on stdout.
pub fn print(text: &str) -> Result<(), Failure> {
    write_result(&mut io::stdout(), text).map_err(unprinted)
}

/// Writes a result. That its reader has gone, as `head` does, is no fault; a full disk is one.
pub fn write_result(out: &mut impl Write, text: &str) -> io::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// For a result that could not be written.
pub fn unprinted(error: io::Error) -> Failure {
    let message = format!("cannot write the result to standard output: {error}");
    Failure::message(Exit::Failed, message, "let it lead elsewhere")
}
