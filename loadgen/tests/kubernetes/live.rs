//! The live view of the manager, on the terminal of `loadgen k8s run`.

use std::fs;
use std::process::Command;

use tokio::task::block_in_place;

use crate::support::{PODS, Run, left, until};

#[tokio::test(flavor = "multi_thread")]
async fn the_live_view_is_on_the_users_terminal_and_its_keys_reach_the_run() {
    if Command::new("tmux").arg("-V").output().is_err() {
        println!("skipped: there is no tmux; on Debian as root, `make setup` installs it");
        return;
    }
    let run = Run::new("live").await;
    let pods: Vec<&str> = PODS.into_iter().filter(|word| *word != "--no-progress").collect();
    let script = format!(
        "stty -g >before\nLC_ALL=C.UTF-8 {} k8s run {} --name live -w 2 -u 4 -d 60s --out result {}\n\
         echo \"exit code $?\"\nstty -g >after\nexec sleep 300\n",
        env!("CARGO_BIN_EXE_loadgen"),
        run.url("/"),
        pods.join(" ")
    );
    fs::write(run.project.path("run.sh"), script).unwrap();
    let server = format!("loadgen-k8s-{}", std::process::id());
    let tmux = |words: &[&str]| {
        let output = block_in_place(|| {
            let mut command = Command::new("tmux");
            command.args(["-L", &server]).args(words).current_dir(run.project.path(""));
            command.output().unwrap()
        });
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let screen = || tmux(&["capture-pane", "-p"]);
    tmux(&["new-session", "-d", "-x", "100", "-y", "36", "sh run.sh"]);
    until("no live view", || {
        let shown = screen();
        shown.contains("holding the load") && shown.contains("live-2 on node-a")
    });
    assert!(screen().contains("┌"), "characters as this terminal has them: {}", screen());
    tmux(&["send-keys", "q"]);
    until("no result", || screen().contains("exit code"));
    let shown = screen();
    tmux(&["kill-server"]);
    assert!(shown.contains("saved in result") && shown.contains("exit code 130"), "{shown}");
    let modes = |name: &str| fs::read_to_string(run.project.path(name)).unwrap();
    assert_eq!(modes("before"), modes("after"));
    assert_eq!(left("live"), Vec::<String>::new());
}
