//! Prepares the targets that this machine can run, and says why it cannot run the others.

use std::collections::BTreeMap;

use crate::lab::Lab;
use crate::lab::error::LabError;

/// Targets and services that a lab lacks, each with the reason: one line that begins with the missing program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lacks {
    /// Targets that cannot run.
    pub targets: BTreeMap<String, String>,
    /// Reason why replicas have no balancer; `None` if they have one, or if no target has replicas.
    pub balancer: Option<String>,
}

impl Lab {
    /// Like [`Lab::build`] and, if `balanced` is true, [`Lab::prepare_balancer`], but leaves out what cannot
    /// be built or installed.
    ///
    /// # Errors
    /// A fault that has nothing to do with a single target, such as a full disk.
    pub async fn prepare_what_runs(
        &mut self,
        targets: &[String],
        balanced: bool,
    ) -> Result<Lacks, LabError> {
        let mut lacks = Lacks::default();
        for name in targets {
            let built = self.build(std::slice::from_ref(name)).await;
            if let Err(error) = built {
                lacks.targets.insert(name.clone(), reason(error)?);
            }
        }
        if balanced && let Err(error) = self.prepare_balancer().await {
            lacks.balancer = Some(format!("needs a load balancer; {}", reason(error)?));
        }
        Ok(lacks)
    }
}

/// Returns why something cannot run, in one line; or the error, if it is about more than that.
fn reason(error: LabError) -> Result<String, LabError> {
    let last = |lines: &[String]| {
        let said = lines.iter().rev().find(|line| !line.trim().is_empty());
        said.map(|line| format!(": {}", line.trim())).unwrap_or_default()
    };
    match error {
        LabError::Build { target, output, log, .. } => {
            let log = log.file_name().unwrap_or_default().to_string_lossy();
            Ok(format!("needs a build of {target}, which failed{}; see {log}", last(&output)))
        }
        LabError::Python { what, output, help } => Ok(format!("{what}{}; {help}", last(&output))),
        LabError::Missing { what, help, .. } => {
            let what = what.lines().next().unwrap_or_default();
            Ok(format!("{what}; {help}"))
        }
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_that_begins_with_what_is_missing() {
        let output =
            ["compiling".to_owned(), "dial tcp: no route to host ".to_owned(), String::new()];
        let build = LabError::Build {
            target: "echo".to_owned(),
            output: output.to_vec(),
            log: "/runs/1/echo-build.log".into(),
            hint: "",
        };
        assert_eq!(
            reason(build).unwrap(),
            "needs a build of echo, which failed: dial tcp: no route to host; see echo-build.log"
        );
        let missing = LabError::Missing {
            service: "express".to_owned(),
            what: "needs Node.js 20; node is not on the PATH\n| more".to_owned(),
            help: "install the program".to_owned(),
        };
        assert_eq!(
            reason(missing).unwrap(),
            "needs Node.js 20; node is not on the PATH; install the program"
        );
        let full = LabError::io("write the file")(std::io::Error::other("no space left"));
        assert!(reason(full).is_err());
    }
}
