//! The lab's servers, and copies of them that need a given share more CPU time for each request.

use std::fs;

use crate::common::program::{Project, checkout};

/// Name of the copy of a target.
pub fn copy(target: &str) -> String {
    format!("slowed-{target}")
}

/// Returns a project with the lab's targets and a copy of one, whose processes spend this share of CPU time
/// for nothing, beside what they use otherwise, while they get requests to `/`. The bursts also slow the
/// work between them a little.
pub fn project(target: &str, percent: f64) -> Project {
    let manifest = fs::read_to_string(checkout().join("targets/targets.toml")).unwrap();
    let (_, from_here) = manifest.split_once(&format!("\n[{target}]\n")).unwrap();
    let table = from_here.split("\n[").next().unwrap();
    let module = format!("targets.{target}_app");
    assert!(table.contains(&module), "{table}");
    let table = table.replace(&module, &format!("targets.slowed_{target}_app"));
    let project = Project::with_targets(&format!(
        "{manifest}\n[{}]\nenv = {{ EXTRA_PERCENT = \"{percent}\" }}\n{table}\n",
        copy(target)
    ));
    for file in fs::read_dir(checkout().join("targets")).unwrap().flatten() {
        let (from, name) = (file.path(), file.file_name());
        let name = name.to_str().unwrap();
        let is_source = from.is_file() && name != "targets.toml";
        if is_source {
            fs::copy(&from, project.path(&format!("targets/{name}"))).unwrap();
        }
    }
    let app = fs::read_to_string(checkout().join(format!("targets/{target}_app.py"))).unwrap();
    let (before, handler) = app.split_once("def hello(").unwrap();
    let (signature, rest) = handler.split_once('\n').unwrap();
    let slowed =
        format!("from targets.spin import spin\n{before}def hello({signature}\n    spin()\n{rest}");
    project
        .file(&format!("targets/slowed_{target}_app.py"), &slowed)
        .file("targets/spin.py", include_str!("spin.py"))
}
