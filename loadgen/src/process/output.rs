//! Writes to stdout and stderr, which may be closed at the other end.

use std::io::{self, IsTerminal as _, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::termios::tcgetwinsize;

use crate::failure::{Exit, Failure};
use crate::text::{COLUMNS, ShownError, printable};

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

/// Returns whether a person sees stderr, and can answer on stdin.
#[must_use]
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Waits until somebody looks at the terminal on stderr, which then has a size, or until the limit. Does not wait if stderr
/// is no terminal.
pub fn await_terminal(limit: Duration) {
    let begun = Instant::now();
    let is_unseen = || tcgetwinsize(io::stderr()).is_ok_and(|size| size.ws_col == 0);
    while io::stderr().is_terminal() && is_unseen() && begun.elapsed() < limit {
        thread::sleep(Duration::from_millis(50));
    }
}

/// Prints a result on stdout.
pub fn print(text: &str) -> Result<(), Failure> {
    write_result(&mut io::stdout(), text).map_err(unprinted)
}

/// Prints a report on stdout. Tells on stderr that a terminal is too narrow for its tables.
pub fn print_report(text: &str) -> Result<(), Failure> {
    print(text)?;
    say_if_narrow(io::stdout(), text);
    Ok(())
}

/// Widest lines of a report, in columns: longer lines are hard to read.
const WIDEST: usize = 120;

/// Returns the columns for the lines of a report on this terminal: its own, from [`COLUMNS`] to [`WIDEST`]. A
/// file or a pipe has [`COLUMNS`].
pub(super) fn columns_of(terminal: impl AsFd) -> usize {
    let columns = tcgetwinsize(terminal).map_or(0, |size| usize::from(size.ws_col));
    columns.clamp(COLUMNS, WIDEST)
}

/// Returns the columns for the lines of a report on stdout.
#[must_use]
pub fn columns() -> usize {
    columns_of(io::stdout())
}

/// Tells on stderr that a terminal is too narrow for the tables of a report that it shows.
pub(super) fn say_if_narrow(terminal: impl AsFd, text: &str) {
    let columns = tcgetwinsize(terminal).map_or(0, |size| usize::from(size.ws_col));
    if let Some(note) = too_wide(text, columns) {
        let _ = writeln!(io::stderr(), "{note}");
    }
}

/// Returns a sentence if lines of a report are wider than a terminal of this many columns. A document, whose lines may
/// be longer than those of any report, is for programs to read. Zero columns are no terminal.
fn too_wide(text: &str, columns: usize) -> Option<String> {
    let widest = text.lines().map(|line| line.chars().count()).max()?;
    let is_wide = columns > 0 && widest > columns && widest <= COLUMNS;
    is_wide.then(|| {
        format!("note: this terminal has {columns} columns, and tables need up to {COLUMNS}: make it wider, or open the \
                 report.html of a saved run")
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_is_too_narrow_for_a_report_is_told() {
        let report = format!("{}\nshort\n", "x".repeat(70));
        assert_eq!([0, 70, 80, 200].map(|columns| too_wide(&report, columns)), [const { None }; 4]);
        assert!(too_wide(&report, 69).is_some_and(|note| note.contains("has 69 columns")));
        assert_eq!(too_wide(&"x".repeat(81), 40), None, "a document");
        assert_eq!(too_wide("", 40), None);
    }
}
