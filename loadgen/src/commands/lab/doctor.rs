//! `loadgen lab doctor`: checks whether this machine can run the lab in containers.

use std::io;

use crate::failure::Exit;
use crate::lab::Home;
use crate::lab::podman::doctor::{Finding, examine};
use crate::process::write_result;

/// Checks whether this machine can run containers,
/// prints the findings, and says how to fix problems.
pub(super) async fn run(home: &Home) -> Exit {
    let findings = examine(home).await;
    // Ignores errors: the exit code reports the result, too.
    let _ = write_result(&mut io::stdout(), &text(&findings));
    if findings.iter().all(|(_, found)| found.is_ok()) { Exit::Done } else { Exit::Failed }
}

fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, found): &Finding| match found {
        Ok(what) => format!("ok  {name:width$}  {what}\n"),
        Err(lack) => {
            let what = lack.what.replace('\n', &format!("\n    {:width$}  ", ""));
            let indent = format!("    {:width$}  ", "");
            format!("!!  {name:width$}  {what}\n{indent}fix: {}\n", lack.fix)
        }
    };
    findings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::podman::doctor::Lack;

    #[test]
    fn a_missing_part_is_reported_with_its_fix() {
        let lack = Lack {
            what: "crun starts no container\nhere".to_owned(),
            fix: "`apt install runc`".to_owned(),
        };
        let findings = [("podman", Ok("4.3.1".to_owned())), ("container runtime", Err(lack))];
        let expected = "ok  podman             4.3.1\n\
                        !!  container runtime  crun starts no container\n                       here\n                       fix: `apt install runc`\n";
        assert_eq!(text(&findings), expected);
    }
}
