//! The live view of the manager, on the terminal of `loadgen k8s run` and of `loadgen k8s follow`.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use tokio::task::block_in_place;

use crate::support::{PODS, Run, left, until};

/// A server of tmux, whose terminals have the project as their folder.
struct Tmux<'a> {
    server: String,
    run: &'a Run,
}

impl<'a> Tmux<'a> {
    /// Returns a server of this name; `None` if there is no tmux.
    fn new(name: &str, run: &'a Run) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            println!("skipped: there is no tmux; on Debian as root, `make setup` installs it");
            return None;
        }
        Some(Self { server: format!("loadgen-k8s-{name}-{}", std::process::id()), run })
    }

    fn tmux(&self, words: &[&str]) -> String {
        let output = block_in_place(|| {
            let mut command = Command::new("tmux");
            command.args(["-L", &self.server]).args(words);
            command.current_dir(self.run.project.path("")).output().unwrap()
        });
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a script in a new terminal, which is then the current one.
    fn start(&self, name: &str, script: &str) {
        fs::write(self.run.project.path(name), script).unwrap();
        let command = format!("sh {name}");
        self.tmux(&["new-session", "-d", "-s", name, "-x", "100", "-y", "36", &command]);
    }

    fn screen(&self, name: &str) -> String {
        self.tmux(&["capture-pane", "-p", "-t", name])
    }

    fn until_live(&self, name: &str, pod: &str) {
        let mut shown = String::new();
        until("no live view", || {
            shown = self.screen(name);
            shown.contains("holding the load") && shown.contains(pod)
        });
        assert!(shown.contains('┌'), "characters as this terminal has them: {shown}");
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Returns `loadgen k8s run` for a live view.
fn run_line(run: &Run, name: &str) -> String {
    let pods: Vec<&str> = PODS.into_iter().filter(|word| *word != "--no-progress").collect();
    format!(
        "{} k8s run {} --name {name} -w 2 -u 4 -d 10m --out result {}",
        env!("CARGO_BIN_EXE_loadgen"),
        run.url("/"),
        pods.join(" ")
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_live_view_is_on_the_users_terminal_and_its_keys_reach_the_run() {
    let run = Run::new("live").await;
    let Some(tmux) = Tmux::new("run", &run) else { return };
    let script = format!(
        "stty -g >before\nexport LC_ALL=C.UTF-8\n{}\necho \"exit code $?\"\nstty -g >after\nexec sleep 300\n",
        run_line(&run, "live")
    );
    tmux.start("run", &script);
    tmux.until_live("run", "live-2 on node-a");
    tmux.tmux(&["send-keys", "-t", "run", "q"]);
    until("no result", || tmux.screen("run").contains("exit code"));
    let shown = tmux.screen("run");
    assert!(shown.contains("saved in result") && shown.contains("exit code 130"), "{shown}");
    let modes = |name: &str| fs::read_to_string(run.project.path(name)).unwrap();
    until("no modes", || !modes("after").is_empty());
    assert_eq!(modes("before"), modes("after"));
    assert_eq!(left("live"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_live_view_of_a_run_whose_client_was_killed_is_on_another_terminal() {
    let run = Run::new("again").await;
    let Some(tmux) = Tmux::new("follow", &run) else { return };
    tmux.start(
        "run",
        &format!("echo $$ >pid\nexport LC_ALL=C.UTF-8\nexec {}\n", run_line(&run, "again")),
    );
    tmux.until_live("run", "again-2 on node-a");
    let pid = fs::read_to_string(run.project.path("pid")).unwrap();
    kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    // Who has no terminal gets no picture.
    let log = run.project.path("log");
    let mut command = run.follow(&["--out", "other"]);
    let mut beside = command.stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    let read = || fs::read_to_string(&log).unwrap();
    until("it does not follow", || read().contains("nothing is shown here"));
    beside.kill().unwrap();
    beside.wait().unwrap();
    assert!(!read().contains('\u{1b}'), "{}", read());
    let script = format!(
        "stty -g >before\n{} k8s follow again --namespace restricted --out result\n\
         echo \"exit code $?\"\nstty -g >after\nexec sleep 300\n",
        env!("CARGO_BIN_EXE_loadgen")
    );
    tmux.start("follow", &script);
    tmux.until_live("follow", "again-2 on node-a");
    tmux.tmux(&["send-keys", "-t", "follow", "q"]);
    until("no result", || tmux.screen("follow").contains("exit code"));
    let shown = tmux.screen("follow");
    assert!(shown.contains("saved in result") && shown.contains("exit code 130"), "{shown}");
    let modes = |name: &str| fs::read_to_string(run.project.path(name)).unwrap();
    until("no modes", || !modes("after").is_empty());
    assert_eq!(modes("before"), modes("after"));
    assert_eq!(left("again"), Vec::<String>::new());
}
