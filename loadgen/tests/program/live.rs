//! The live view, as people see it: in a tmux terminal, with keys pressed and windows resized.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::processes::signal;
use crate::common::program::Project;
use crate::common::{Counting, dead_address};
use regex::Regex;
use rustix::process::Signal;
use serde_json::Value;
use tokio::task::block_in_place;

const DEADLINE: Duration = Duration::from_secs(40);

/// Twenty users, and answers that take 0.1 s.
const SLOW: &str = "[load]\nusers = 20\nduration = \"60s\"\n[[step]]\nget = \"/slow/100\"\n";

/// A run in a separate terminal.
struct Terminal {
    project: Project,
    server: String,
}

impl Terminal {
    /// Runs loadgen in a terminal of this size (columns, rows), with these variables
    /// set. Returns `None` if tmux does not exist.
    fn run(size: (u16, u16), variables: &str, arguments: &[&str]) -> Option<Self> {
        Self::run_by(size, variables, arguments, "")
    }

    /// Like [`Self::run`], in a shell that carries out `jobs` with job control when loadgen is suspended.
    fn run_by(size: (u16, u16), variables: &str, arguments: &[&str], jobs: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            println!(
                "skipped: there is no tmux; install it, or run `make setup` as root on Debian"
            );
            return None;
        }
        let quoted: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
        let script = format!(
            "export {variables} LC_ALL=C.UTF-8 XDG_CACHE_HOME=\"$PWD/cache\" LOADGEN_LOCKS=\"$PWD/cache/locks\"\n\
             trap : INT\n\
             stty -g >before\n\
             {}\n\
             sh -c 'echo $$ >pid; exec \"$@\"' sh '{}' {} --no-calibrate\n\
             {jobs}\n\
             echo \"exit code $?\"\n\
             stty -g >after\n\
             exec sleep 300\n",
            if jobs.is_empty() { ":" } else { "set -m" },
            env!("CARGO_BIN_EXE_loadgen"),
            quoted.join(" ")
        );
        let project = Project::real().file("slow.toml", SLOW).file("run.sh", &script);
        let folder = project.path("");
        // Each test has a separate tmux server, with a name that is unique on this machine.
        let server = format!("loadgen-{}", folder.file_name()?.to_string_lossy());
        let terminal = Self { project, server };
        let [width, height] = [size.0, size.1].map(|n| n.to_string());
        let folder = folder.display().to_string();
        let session = ["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height];
        terminal.tmux(&[&session[..], &["-c", &folder, "sh run.sh"]].concat());
        Some(terminal)
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.server]).args(words).env_remove("TMUX");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn resize(&self, width: u16, height: u16) {
        let [width, height] = [width, height].map(|n| n.to_string());
        self.tmux(&["resize-window", "-x", &width, "-y", &height]);
    }

    /// Returns the screen, and for the normal screen also up to 100 lines that have scrolled off.
    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-100"])
    }

    fn has_colours(&self) -> bool {
        let colour = Regex::new(r"\x1b\[[0-9;]*([34][0-7]|[34]8;5;\d+)m").unwrap();
        colour.is_match(&self.tmux(&["capture-pane", "-p", "-e"]))
    }

    /// Waits until `is` is true of the screen, and returns the screen.
    #[track_caller]
    fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let screen = self.screen();
            if is(&screen) {
                return screen;
            }
            assert!(begin.elapsed() < DEADLINE, "waited in vain until {what}:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    #[track_caller]
    fn until_it_says(&self, text: &str) -> String {
        self.until(&format!("it says {text:?}"), |screen| screen.contains(text))
    }

    /// Waits for the end of the run, asserts that the terminal is
    /// as it was, and returns the normal screen.
    #[track_caller]
    fn ended(&self, code: u8) -> String {
        let screen = self.until("it has ended", |screen| screen.contains("exit code "));
        assert!(screen.contains(&format!("exit code {code}\n")), "{screen}");
        assert_eq!(
            self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]),
            "0 1\n"
        );
        self.until("the modes are written", |_| self.written("after").ends_with('\n'));
        assert_eq!(self.written("before"), self.written("after"));
        screen
    }

    /// Waits until the run is saved with this value of `interrupted`.
    #[track_caller]
    fn until_saved(&self, interrupted: bool) {
        let begin = Instant::now();
        let is_saved = || {
            let text = fs::read(self.project.path("run/run.json")).unwrap_or_default();
            let record = serde_json::from_slice(&text);
            record.is_ok_and(|record: Value| record["interrupted"] == interrupted)
        };
        while !is_saved() {
            assert!(begin.elapsed() < DEADLINE, "the run is held up");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns what the script has written into this file.
    fn written(&self, name: &str) -> String {
        fs::read_to_string(self.project.path(name)).unwrap_or_default()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The end of tmux also ends loadgen, because loadgen's terminal hangs up.
        let _ = Command::new("tmux").args(["-L", &self.server, "kill-server"]).status();
    }
}

/// Returns the screen without what changes from run to run: figures, bars, and the width of gaps.
fn layout(screen: &str) -> String {
    let figures = Regex::new(r"\d+([.,]\d+)*|–").unwrap();
    let bars = Regex::new("[▁▂▃▄▅▆▇█░]+").unwrap();
    let gaps = Regex::new("  +|──+").unwrap();
    let plain = |line: &str| {
        let line = figures.replace_all(line, "N");
        let line = bars.replace_all(&line, "");
        let gap = |gap: &regex::Captures<'_>| if gap[0].starts_with(' ') { "  " } else { "──" };
        gaps.replace_all(&line, gap).trim_end().to_owned()
    };
    screen.trim_end().lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// Returns whether the screen shows at least 6 s of load and the CPUs, and nobody was held up.
fn is_busy(screen: &str) -> bool {
    Regex::new(r"last ([6-9]|\d\d) s").unwrap().is_match(screen)
        && screen.contains("generator")
        && !screen.contains("late:")
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_change_the_users_and_the_window_can_be_resized() {
    let server = Counting::start().await;
    let arguments = ["-s=slow.toml", "--url", &server.url, "--out=run"];
    let Some(terminal) = Terminal::run((80, 24), "NO_COLOR=1", &arguments) else { return };
    block_in_place(|| {
        let screen = terminal.until("there is load", is_busy);
        insta::assert_snapshot!("a_live_view_of_80_by_24", layout(&screen));
        assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
        assert!(!terminal.has_colours());

        terminal.press("+");
        terminal.until_it_says(" 22 users\n");
        let begin = Instant::now();
        while server.take_most_under_way() < 22 {
            assert!(begin.elapsed() < DEADLINE, "the server does not see them");
            std::thread::sleep(Duration::from_millis(200));
        }
        terminal.press("Down");
        terminal.press("-");
        terminal.until_it_says(" 18 users\n");

        terminal.resize(100, 30);
        let is_wide = |line: &str| line.starts_with('┌') && line.chars().count() == 100;
        terminal.until("it fills the window", |screen| screen.lines().any(is_wide));
        terminal.resize(50, 10);
        let screen = terminal.until("the charts are left out", |screen| !screen.contains('┌'));
        assert!(screen.contains("holding the load") && screen.contains("requests/s"), "{screen}");
        terminal.resize(80, 24);
        terminal.until_it_says("┌ latency: █ p50 ░ p99 ─");

        terminal.press("q");
        let screen = terminal.ended(130);
        for noted in ["  22 users from second", "  18 users from second", "  the run ends; loadgen"]
        {
            assert!(screen.contains(noted), "{noted}:\n{screen}");
        }
        assert!(screen.contains("the run was interrupted"), "{screen}");
    });
    let record = fs::read(terminal.project.path("run/run.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    let changes = record["targets"][0]["rounds"][0]["changes"].as_array().unwrap();
    let users: Vec<u64> = changes.iter().map(|change| change["users"].as_u64().unwrap()).collect();
    assert_eq!(users, [22, 20, 18]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_screen_shows_workers_and_a_signal_restores_the_terminal() {
    let server = Counting::start().await;
    let arguments = ["-s=slow.toml", "--url", &server.url, "--workers=3", "--rounds=2"];
    let Some(terminal) = Terminal::run((200, 50), "A=B", &arguments) else { return };
    block_in_place(|| {
        let screen = terminal.until("there is load", is_busy);
        insta::assert_snapshot!("a_live_view_of_200_by_50", layout(&screen));
        assert!(terminal.has_colours());
        signal(terminal.written("pid").trim().parse().unwrap(), Signal::INT);
        assert!(terminal.ended(130).contains("the run was interrupted"));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_can_be_ended_but_not_changed_by_keys() {
    let server = Counting::start().await;
    let arguments = ["capacity", "-s=slow.toml", "--url", &server.url];
    let Some(terminal) = Terminal::run((80, 24), "NO_COLOR=1", &arguments) else { return };
    block_in_place(|| {
        let screen = terminal.until_it_says("requests/s planned");
        assert!(screen.contains(" at ") && !screen.contains("10 %"), "{screen}");
        terminal.press("+");
        terminal.until_it_says("is fixed; nothing was changed");
        terminal.press("C-c");
        terminal.ended(130);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_terminal_does_not_delay_the_run() {
    let server = Counting::start().await;
    let arguments = ["-s=slow.toml", "--url", &server.url, "--duration=3s", "--out=run"];
    let Some(terminal) = Terminal::run((80, 24), "NO_COLOR=1", &arguments) else { return };
    block_in_place(|| {
        terminal.until_it_says("holding the load");
        terminal.press("C-s");
        terminal.until_saved(false);
        assert!(terminal.screen().contains("holding the load"), "{}", terminal.screen());
        terminal.press("C-q");
        terminal.ended(0);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_the_run_even_on_a_blocked_terminal() {
    let server = Counting::start().await;
    let arguments = ["-s=slow.toml", "--url", &server.url, "--out=run"];
    let Some(terminal) = Terminal::run((80, 24), "NO_COLOR=1", &arguments) else { return };
    block_in_place(|| {
        terminal.until("there is load", is_busy);
        terminal.press("C-s");
        let pid = terminal.written("pid").trim().parse().unwrap();
        signal(pid, Signal::INT);
        terminal.until_saved(true);
        // Signals within one second count as one.
        std::thread::sleep(Duration::from_millis(1_200));
        assert_eq!(terminal.written("after"), "", "it waits for its terminal");
        signal(pid, Signal::INT);
        terminal.ended(130);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_early_error_is_shown_on_the_normal_screen() {
    let url = format!("http://{}", dead_address());
    let arguments = ["-s=slow.toml", "--url", &url];
    let Some(terminal) = Terminal::run((80, 24), "NO_COLOR=1", &arguments) else { return };
    block_in_place(|| assert!(terminal.ended(4).contains("refused"), "{}", terminal.screen()));
}

/// As an editor does: the shell has its terminal as it was, and the view comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_run_gives_the_terminal_back_and_resumes() {
    let server = Counting::start().await;
    let arguments = ["-s=slow.toml", "--url", &server.url, "--out=run"];
    let jobs = "echo suspended >suspended; stty -g >meanwhile; sleep 2; fg %1 >/dev/null";
    let Some(terminal) = Terminal::run_by((80, 24), "NO_COLOR=1", &arguments, jobs) else { return };
    block_in_place(|| {
        terminal.until("there is load", is_busy);
        let alternate = || terminal.tmux(&["display-message", "-p", "#{alternate_on}"]);
        terminal.press("C-z");
        terminal.until("it is suspended", |_| {
            terminal.written("meanwhile").ends_with('\n') && alternate() == "0\n"
        });
        assert_eq!(terminal.written("before"), terminal.written("meanwhile"));
        terminal.until("the view is back", |screen| {
            screen.contains("holding the load") && alternate() == "1\n"
        });
        terminal.press("q");
        let screen = terminal.ended(130);
        assert!(screen.contains("[held_up]"), "{screen}");
    });
}

/// A run that goes on in the background ends there.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_the_background_ends() {
    let server = Counting::start().await;
    let arguments = ["-s=slow.toml", "--url", &server.url, "--out=run", "--duration=9s"];
    let jobs = "bg %1 >/dev/null; wait %1; echo \"code $?\" >ended";
    let Some(terminal) = Terminal::run_by((80, 24), "NO_COLOR=1", &arguments, jobs) else { return };
    block_in_place(|| {
        terminal.until("there is load", is_busy);
        terminal.press("C-z");
        terminal.until_saved(false);
        terminal.until("it has ended", |_| terminal.written("ended").ends_with('\n'));
        assert_eq!(terminal.written("ended"), "code 0\n");
    });
}

/// Nobody could resume it: the shell of this terminal has no job control.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_nobody_could_resume_is_not_suspended() {
    let server = Counting::start().await;
    let arguments = ["-s=slow.toml", "--url", &server.url, "--out=run"];
    let Some(terminal) = Terminal::run((80, 24), "NO_COLOR=1", &arguments) else { return };
    block_in_place(|| {
        terminal.until("there is load", is_busy);
        terminal.press("C-z");
        std::thread::sleep(Duration::from_secs(1));
        terminal.press("q");
        terminal.ended(130);
    });
}
