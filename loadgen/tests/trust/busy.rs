//! Servers that use a known CPU time for each request, and measure it themselves.

use serde_json::Value;

use crate::common::program::{Finished, Project};

/// Options of each run. With this many users, a server has the next request as soon as it has
/// answered one, even if the generator is held up for a moment. Otherwise the server would wait,
/// which would lower the rates, but not show in the server's own measurement.
const SHORT: [&str; 3] = ["--users=32", "--format=json", "-s=busy.toml"];

/// Measures servers that are busy for the ms in their names: 1.07 for `busy107`.
pub fn run(names: &[&str], arguments: &[&str]) -> (Project, Finished) {
    let target = |name: &&str| {
        let ms = &format!("{}.{}", &name[4..5], &name[5..]);
        format!(
            "[{name}]\nframework = \"none\"\nserver = \"busy\"\npackages = []\n\
             command = [\"python\", \"busy.py\", \"{{host}}\", \"{{port}}\", \"{ms}\"]\n\
             differs = [\"busy for {ms} ms\"]\n"
        )
    };
    let project = Project::with_targets(&names.iter().map(target).collect::<String>())
        .file("busy.py", include_str!("busy.py"))
        .file("busy.toml", "[[step]]\nname = \"busy\"\nget = \"/\"\n");
    let finished = project.run(&[&SHORT[..], &["--out=run"], arguments].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    (project, finished)
}

/// Returns the CPU time of a request in seconds, as the server
/// itself measured it: the mean over all rounds.
pub fn busy_s(project: &Project, name: &str, rounds: u64) -> f64 {
    let of_round = |round| {
        let log =
            std::fs::read_to_string(project.path(&format!("run/{name}-{round}.log"))).unwrap();
        let told: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        told["cpu_s"].as_f64().unwrap() / told["requests"].as_f64().unwrap()
    };
    (1..=rounds).map(of_round).sum::<f64>() / rounds as f64
}
