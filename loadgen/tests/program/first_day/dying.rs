//! A dying server, at a URL and started by loadgen.

use super::folder::Folder;
use super::urls::UVICORN;

const FRAGILE: &str = r#"
[target.fragile]
command = ["uvicorn", "shop:app", "--host={host}", "--port={port}", "--workers={workers}"]
env = { DIES_AFTER = "20" }
"#;

#[test]
fn a_dying_server_is_named_with_its_last_words() {
    let folder = Folder::with("starlette");
    let server = folder.serve(&UVICORN, &[("DIES_AFTER", "20")]);
    let url = format!("{}/products", server.url);
    let gone = folder.loadgen(&[&url, "-u", "5", "-d", "1s"]);
    assert_eq!(gone.code, Some(1), "{}", gone.said());
    assert!(gone.stdout.contains("[nothing_answered]"), "{}", gone.stdout);
    folder.write("loadgen.toml", FRAGILE);
    let ended = folder.loadgen(&["/products", "-u", "5", "-d", "1s", "-R", "1"]);
    assert_eq!(ended.code, Some(4), "{}", ended.said());
    for shown in ["fragile exited with code 3", "shop: out of memory", "fragile-1.log"] {
        assert!(ended.stderr.contains(shown), "{shown}: {}", ended.stderr);
    }
}
