//! Tasks with servers that loadgen starts.

use super::folder::Folder;

const UVICORN: &str = r#"
[target.uvicorn]
command = ["uvicorn", "shop.asgi:application", "--host={host}", "--port={port}", "--workers={workers}"]
"#;

/// Compare two deployments that loadgen starts.
#[test]
fn two_deployments_are_compared() {
    let folder = Folder::with("django");
    let found = folder.loadgen(&["init", "--targets"]);
    assert!(found.stderr.contains("Django, in manage.py"), "{}", found.said());
    folder.append("loadgen.toml", UVICORN);
    let listed = folder.loadgen(&["list"]);
    assert!(listed.stdout.contains("shop on gunicorn"), "{}", listed.stdout);
    assert!(listed.stdout.contains("uvicorn on uvicorn"), "{}", listed.stdout);
    let short = ["-u", "5", "-d", "500ms", "--warmup", "200ms"];
    let compared = folder.loadgen(&[&["/products"][..], &short].concat());
    assert_eq!(compared.code, Some(0), "{}", compared.said());
    assert!(compared.stderr.contains("10 rounds over shop, uvicorn"), "{}", compared.stderr);
    // A busy machine may allow no statement about the servers.
    let verdict = ["shop serves", "uvicorn serves", "no difference between", "not ranked"];
    assert!(verdict.iter().any(|it| compared.stdout.contains(it)), "{}", compared.stdout);
    assert!(folder.saved().join("shop-1.log").is_file());
}

/// The same with an application that `loadgen init --targets` finds by its package.json.
#[test]
fn an_application_of_express_is_found_and_started() {
    let Some(folder) = Folder::with_express() else { return };
    let found = folder.loadgen(&["init", "--targets"]);
    assert!(found.stderr.contains("Express, in package.json"), "{}", found.said());
    let ran = folder.loadgen(&["/products", "-u", "5", "-d", "1s", "-R", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    assert!(ran.stdout.contains("express on node"), "{}", ran.stdout);
}

/// Capacity of one's own target.
#[test]
fn the_capacity_of_an_own_target_is_found() {
    let folder = Folder::with("starlette");
    let found = folder.loadgen(&["init", "--targets"]);
    assert!(found.stderr.contains("Starlette, in shop.py"), "{}", found.said());
    let short = ["-d", "200ms", "--warmup", "100ms", "-R", "1", "--precision", "50"];
    let searched = folder.loadgen(&[&["capacity", "/products"][..], &short].concat());
    assert_eq!(searched.code, Some(0), "{}", searched.said());
    assert!(searched.stdout.contains("starlette carries"), "{}", searched.stdout);
    assert!(folder.saved().join("capacity.json").is_file());
}
