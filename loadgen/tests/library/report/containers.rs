//! Tests what the terminal's report says about containers.

use std::collections::BTreeMap;

use super::records::*;
use super::shown::terminal;
use loadgen::record::LimitsRecord;

#[test]
fn a_run_in_containers_shows_their_limits_and_images() {
    let mut record = record(vec![target("sanic", &[900.0; 5]), target("flask", &[300.0; 5])]);
    let limits = |cpus, memory_bytes| LimitsRecord { cpus, memory_bytes };
    let environment = &mut record.environment;
    environment.runtime = "podman".to_owned();
    environment.podman = Some("podman 4.3.1, runc, cgroup v1".to_owned());
    environment.limits = BTreeMap::from([
        ("sanic".to_owned(), limits(Some(0.5), Some(256 << 20))),
        ("flask".to_owned(), limits(Some(0.5), Some(256 << 20))),
        ("redis".to_owned(), limits(None, None)),
    ]);
    let digest = "0123456789abcdef".repeat(4);
    environment.images = BTreeMap::from([
        ("target".to_owned(), format!("localhost/loadgen-targets@sha256:{digest}")),
        ("redis".to_owned(), "docker.io/library/redis:8".to_owned()),
    ]);
    let text = terminal(&record, None);
    let told = text.split("\n\n").find(|part| part.contains("in containers")).unwrap();
    let expected = [
        " in containers: podman 4.3.1, runc, cgroup v1; flask, sanic: 0.5 CPUs, 256 MiB;",
        "   redis: no limit",
        " images: redis docker.io/library/redis:8, target localhost/loadgen-targets",
        "   (0123456789ab)",
    ];
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
}
