//! Ends the process at a panic, which is always a fault of loadgen.

use std::io::{self, Write};
use std::{panic, process};

use crate::failure::Exit;

/// Makes each panic end the process with exit code 1, once the panic is reported: without one of its
/// threads or tasks, loadgen would go on and measure something else than it says. What is saved by
/// then stays, and services end with loadgen.
pub fn end_on_panic() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        report(panic);
        let last = "loadgen ends here. This is a fault in loadgen: report it, with the lines above";
        let _ = writeln!(io::stderr(), "{last}");
        process::exit(Exit::Failed as i32);
    }));
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// Set where the process may end.
    const MAY_END: &str = "LOADGEN_TEST_MAY_END";

    /// Panics in a thread that nothing waits for.
    #[test]
    #[ignore = "it ends its process, which the test below looks at"]
    fn a_thread_that_panics() {
        if env::var_os(MAY_END).is_none() {
            return;
        }
        end_on_panic();
        thread::spawn(|| panic!("a fault of ours"));
        loop {
            thread::park();
        }
    }

    #[test]
    fn a_panic_of_any_thread_ends_the_process_with_a_report() {
        let test = "process::panics::tests::a_thread_that_panics";
        let mut command = Command::new(env::current_exe().unwrap());
        command.env(MAY_END, "yes");
        let ended = command.args(["--exact", "--ignored", "--nocapture", test]).output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{told}");
        let report = told.find("a fault of ours").expect("the panic is reported");
        assert!(told[report..].contains("a fault in loadgen: report it"), "{told}");
    }
}
