//! Workers that never join.

use std::io::Write;
use std::process::{Command, Stdio};

use loadgen::cluster::{Cluster, ClusterError, LocalWorkers};

use super::support::*;
use crate::common::machine;

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ends_early_is_quoted() {
    let _beside = machine::beside().await;
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("worker");
    std::fs::write(&program, "#!/bin/sh\necho out of luck >&2\nexit 3\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let logs = Some(folder.path().to_owned());
    let workers = LocalWorkers { program, logs, ..LocalWorkers::new(2).unwrap() };
    let error = Cluster::start(&workers, |_| {}).await.err().unwrap();
    let message = error.to_string();
    assert!(message.starts_with("worker "), "{message}");
    assert!(
        message.ends_with("ended before it joined (exit status: 3); end of its log:\nout of luck"),
        "{message}"
    );
    let nowhere = LocalWorkers { program: folder.path().join("nowhere"), ..workers };
    let error = Cluster::start(&nowhere, |_| {}).await.err().unwrap();
    assert!(matches!(error, ClusterError::Spawn { .. }), "{error}");
}

/// Runs `loadgen worker` with a join document that it must refuse, and returns its stderr.
fn worker_with(document: &str) -> String {
    let mut worker = Command::new(PROGRAM)
        .args(["worker", "--join", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = worker.stdin.take().unwrap();
    writeln!(stdin, "{document}").unwrap();
    let output = worker.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_worker_refuses_a_join_document_that_is_not_for_it() {
    let _beside = machine::beside_now();
    let version = env!("CARGO_PKG_VERSION");
    let said = worker_with(&format!(
        r#"{{"protocol":99,"version":"{version}","address":"127.0.0.1:1","run":"a","worker":0,"user":"u","password":"hunter2"}}"#
    ));
    assert!(said.contains("this worker refused the manager"), "{said}");
    let on_one_line = said.replace("\n  │ ", " ");
    assert!(on_one_line.contains("protocol 99"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
    let said = worker_with("{}");
    assert!(said.contains("cannot use the join file"), "{said}");
}
