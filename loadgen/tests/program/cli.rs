//! Messages and exit codes of the real binary when something is wrong.

use std::fs::File;
use std::net::TcpListener;
use std::process::Command;

use crate::common::program::{Finished, Project};
use crate::common::{Counting, dead_address};

/// Returns the manifest entry of a server (Python's standard
/// library) that answers each path with this text.
fn target(answer: &str) -> String {
    let code = format!(
        "import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n    def do_GET(self):\n        \
         self.send_response(200); self.end_headers(); self.wfile.write(b'{answer}')\n    \
         def log_message(self, *a): pass\nh.ThreadingHTTPServer(('127.0.0.1', {{port}}), H).serve_forever()"
    );
    entry("plain", &["python", "-c", &code])
}

fn entry(name: &str, command: &[&str]) -> String {
    format!(
        "[{name}]\nframework = \"none\"\nserver = \"none\"\npackages = []\ncommand = {}\n",
        serde_json::to_string(command).unwrap()
    )
}

/// Replaces the digits after the first `127.0.0.1:` in a text.
fn without_port(text: &str) -> String {
    let (before, after) = text.split_once("127.0.0.1:").unwrap();
    format!("{before}127.0.0.1:[port]{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

const SHORT: [&str; 5] =
    ["--rounds=1", "--warmup=0s", "--duration=1s", "--users=2", "--no-calibrate"];

#[test]
fn an_unknown_scenario_is_refused_with_a_suggestion() {
    insta::assert_snapshot!(Project::real().run(&["--scenario", "redis33"]).said(), @r#"
    exit code 2
    unknown_scenario

      × unknown scenario "redis33"
      help: did you mean "redis3"?
    "#);
}

#[test]
fn an_unknown_target_is_refused_with_a_suggestion() {
    insta::assert_snapshot!(Project::real().run(&["-s", "direct", "-t", "sanic,fastap"]).said(), @r#"
    exit code 2
    unknown_target

      × unknown target "fastap"
      help: did you mean "fastapi"?
    "#);
}

#[test]
fn an_unknown_option_is_refused_with_a_suggestion() {
    insta::assert_snapshot!(Project::real().run(&["--scenaro", "redis3"]).said(), @"
    exit code 2
    error: unexpected argument '--scenaro' found

      tip: a similar argument exists: '--scenario'

    Usage: loadgen --scenario <NAME|PATH|-> [[NAME=]URL|PATH]...

    For more information, try '--help'.
    ");
}

#[test]
fn all_faults_of_a_scenario_are_shown_at_once() {
    let project = Project::real().file(
        "mine.toml",
        "backend = [\"redis\"]\n\n[load]\nusers = 0\nduration = \"-3s\"\n\n[[step]]\nget = \"/\"\n\n\
         [thresholds]\nerror_rate = \"< 150%\"\n",
    );
    insta::assert_snapshot!(project.run(&["--scenario", "mine.toml"]).said());
}

#[test]
fn invalid_toml_is_refused() {
    let project = Project::real().file("mine.toml", "[load\nusers = 3\n");
    insta::assert_snapshot!(project.run(&["check", "mine.toml"]).said());
}

/// Returns the transport that `loadgen check` names for a scenario with this `[http]`.
fn transport(http: &str) -> String {
    let scenario = format!("[http]\n{http}\n[[step]]\nget = \"/\"\n");
    let finished = Project::real().file("mine.toml", &scenario).run(&["check", "mine.toml"]);
    let line = finished.stdout.lines().find_map(|line| line.strip_prefix("  transport   "));
    line.unwrap_or_else(|| panic!("{}", finished.said())).to_owned()
}

#[test]
fn check_names_the_transport_and_the_reason() {
    assert_eq!(transport(""), "http1");
    assert_eq!(transport("cookies = true"), "http1");
    let all = "version = \"2\"\nredirects = 3\ncookies = true\nproxy = \"http://10.0.0.1:3128\"";
    assert_eq!(transport(all), "http2, for HTTP/2");
    let http2 = "version = \"2\"";
    assert_eq!(transport(http2), "http2, for HTTP/2");
    assert_eq!(
        transport(&format!("{http2}\nconnections = 30\nstreams = 1\ntransport = \"http2\"")),
        "http2, set in the scenario, 30 connections shared, up to 1 user on a connection"
    );
    assert_eq!(transport("transport = \"reqwest\""), "reqwest, set in the scenario");
    assert_eq!(transport("transport = \"http1\""), "http1, set in the scenario");
}

#[test]
fn zero_users_are_refused() {
    insta::assert_snapshot!(Project::real().run(&["-s", "direct", "--users", "0"]).said(), @"
    exit code 2
    bad_load

      × --users must be at least 1
      help: see `loadgen run --help`
    ");
}

#[test]
fn a_negative_duration_is_refused() {
    insta::assert_snapshot!(Project::real().run(&["-s", "direct", "--duration", "-3s"]).said(), @"
    exit code 2
    error: invalid value '-3s' for '--duration <TIME>': a duration cannot be negative

    For more information, try '--help'.
    ");
}

#[test]
fn an_invalid_url_is_refused() {
    let said = Project::real().run(&["-s", "direct", "--url", "localhost:8000"]).said();
    insta::assert_snapshot!(said, @"
    exit code 2
    bad_url

      × --url localhost:8000: not an http:// or https:// URL, nor unix:PATH
      help: write a URL such as http://127.0.0.1:8000, or unix:/run/app.sock
    ");
}

#[test]
fn servers_with_the_same_name_are_refused() {
    let said =
        |words: &[&str]| Project::real().run(&[&["-s", "direct", "--url"], words].concat()).said();
    insta::assert_snapshot!(
        [
            said(&["http://127.0.0.1:1,http://127.0.0.1:1/"]),
            said(&["a=http://127.0.0.1:1,a=http://127.0.0.1:2"]),
            said(&["=http://127.0.0.1:1"]),
            said(&["http://127.0.0.1:1", "--url", "http://127.0.0.1:2", "--aa"]),
        ]
        .join("\n")
    );
}

#[test]
fn a_url_with_a_query_is_refused() {
    let said = Project::real().run(&["-s", "direct", "--url", "http://127.0.0.1/?a=b"]).said();
    insta::assert_snapshot!(said);
}

#[test]
fn two_ends_on_the_command_line_are_refused() {
    let said = Project::real().run(&["-s", "direct", "--duration=1s", "--iterations=5"]).said();
    insta::assert_snapshot!(said);
}

#[test]
fn several_targets_with_aa_are_refused() {
    insta::assert_snapshot!(Project::real().run(&["-s", "direct", "--aa"]).said());
}

#[test]
fn a_limit_without_a_container_is_refused() {
    insta::assert_snapshot!(Project::real().run(&["-s", "direct", "--backend-memory=1g"]).said());
    insta::assert_snapshot!(Project::real().run(&["lab", "up", "--cpus=1"]).said());
}

#[test]
fn an_invalid_limit_is_refused() {
    insta::assert_snapshot!(Project::real().run(&["-s", "direct", "--cpus=0"]).said());
    insta::assert_snapshot!(Project::real().run(&["-s", "direct", "--memory=1k"]).said());
}

#[test]
fn containers_for_a_running_server_are_refused() {
    let words = ["-s", "direct", "--url=http://127.0.0.1:1", "--runtime=podman"];
    insta::assert_snapshot!(Project::real().run(&words).said());
}

#[test]
fn containers_without_podman_are_refused() {
    let project = Project::real();
    let mut command = project.command(&["-s", "direct", "--runtime=podman", "--out=run"]);
    let output = command.env("PATH", project.path("nothing")).output().unwrap();
    insta::assert_snapshot!(Finished::of(output, &project.path("")).said());
    let mut doctor = project.command(&["lab", "doctor"]);
    let output = doctor.env("PATH", project.path("nothing")).output().unwrap();
    let finished = Finished::of(output, &project.path(""));
    insta::assert_snapshot!(format!("exit code {:?}\n{}", finished.code, finished.stdout));
}

#[test]
fn an_unknown_backend_is_refused() {
    insta::assert_snapshot!(Project::real().run(&["lab", "up", "--backend", "redi"]).said());
}

#[test]
fn a_url_without_a_server_fails_the_verification() {
    let url = format!("http://{}", dead_address());
    let said = Project::real().run(&["-s", "direct", "--no-calibrate", "--url", &url]).said();
    insta::assert_snapshot!(said.replace(&url, "[url]"), @"
    exit code 4
    unexpected_response

      × [url] does not respond as the scenario expects
      │   step      direct
      │   request   GET [url]/
      │   expected  a response
      │   got       a connect error: Connection refused (os error 111)
      help: nothing listens at this address: start the server, or correct the host
            and the port
    ");
}

#[test]
fn a_target_with_wrong_responses_fails_the_verification() {
    let project = Project::with_targets(&target("Bonjour"));
    let said = project.run(&[&["-s", "direct", "-t", "plain"], &SHORT[..]].concat()).said();
    insta::assert_snapshot!(without_port(&said));
}

#[test]
fn a_target_that_exits_at_its_start_is_reported_with_its_log() {
    let code = "import sys; print('the database is on fire'); sys.exit(3)";
    let project = Project::with_targets(&entry("broken", &["python", "-c", code]));
    let said = project.run(&["-s", "direct", "-t", "broken", "--no-calibrate", "--out=run"]).said();
    insta::assert_snapshot!(said);
}

#[test]
fn a_backend_that_cannot_start_is_reported() {
    let project = Project::with_targets(&target("Bonjour"))
        .file("targets/schema.sql", "CREATE TABLE items (sku nonsense);\n");
    let said =
        project.run(&["-s", "insert_one", "-t", "plain", "--no-calibrate", "--out=run"]).said();
    insta::assert_snapshot!(said);
}

#[test]
fn a_port_in_use_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let project = Project::with_targets(&target("Bonjour")).with_own_lab();
    let said = project.run(&["lab", "up", "-t", "plain", "-b", "redis", "--port", &port]).said();
    let error = said.split("  ×").nth(1).unwrap_or(&said).replace(&port, "[port]");
    assert!(said.starts_with("exit code 4"), "{said}");
    insta::assert_snapshot!(error);
}

#[test]
fn a_folder_without_write_permission_is_refused() {
    let said = Project::real().run(&["-s", "direct", "--out", "/sys/mine"]).said();
    // Root cannot write there either, but gets another message.
    let said =
        said.replace("Operation not permitted (os error 1)", "Permission denied (os error 13)");
    insta::assert_snapshot!(said);
}

#[test]
fn a_file_in_place_of_the_folder_is_refused() {
    let project = Project::real().file("mine", "");
    insta::assert_snapshot!(project.run(&["-s", "direct", "--out", "mine"]).said());
}

#[test]
fn a_folder_with_an_earlier_run_is_refused() {
    let project = Project::real().file("run.json", "{}");
    insta::assert_snapshot!(project.run(&["-s", "direct", "--out", "."]).said());
}

/// Uses a disk of one page, in a mount namespace that ends with the command.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_loses_the_file_but_prints_the_result() {
    let server = Counting::start().await;
    let project = Project::real();
    let disk = project.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let inner = project.command(
        &[&["-s", "direct", "--url", &server.url, "--out", "disk/run"], &SHORT[..]].concat(),
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.arg("mount -t tmpfs -o size=4k,nr_inodes=8 none \"$0\" && exec \"$@\"");
    command.arg(&disk).arg(inner.get_program()).args(inner.get_args());
    command.current_dir(project.path("")).env("NO_COLOR", "1");
    let finished = Finished::of(command.output().unwrap(), &project.path(""));
    if finished.stderr.contains("unshare:") || finished.stderr.contains("mount:") {
        println!("skipped: no mount namespace here: {}", finished.stderr);
        return;
    }
    assert!(finished.stdout.contains("requests/s"), "the table is shown: {}", finished.said());
    let error = finished.stderr.split("  ×").nth(1).unwrap_or(&finished.stderr).to_owned();
    insta::assert_snapshot!(format!("exit code {:?}\n{error}", finished.code));
}

/// Returns a pipe whose reader is gone.
fn gone() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

#[test]
fn a_closed_reader_is_no_failure() {
    let project = Project::real();
    for arguments in [&["list"][..], &["check", "direct"]] {
        let output = project.command(arguments).stdout(gone()).output().unwrap();
        let finished = Finished::of(output, &project.path(""));
        assert_eq!(finished.said(), "exit code 0\n", "{arguments:?}");
    }
}

#[test]
fn an_unread_error_keeps_its_exit_code() {
    let project = Project::real();
    for arguments in [&["check", "redis33"][..], &["-s", "redis33"], &["lab", "status", "-x"]] {
        let status = project.command(arguments).stderr(gone()).status().unwrap();
        assert_eq!(status.code(), Some(2), "{arguments:?}");
    }
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" check redis33 2>&-", env!("CARGO_BIN_EXE_loadgen")]);
    assert_eq!(command.current_dir(project.path("")).status().unwrap().code(), Some(2));
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_list_that_cannot_be_written_is_an_error() {
    let project = Project::real();
    let output = project.command(&["list"]).stdout(full()).output().unwrap();
    insta::assert_snapshot!(Finished::of(output, &project.path("")).said());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_cannot_be_written_is_saved_and_an_error() {
    let server = Counting::start().await;
    let project = Project::real();
    let arguments = ["-s", "direct", "--url", &server.url, "--format=json", "--out=run"];
    let mut command = project.command(&[&arguments[..], &SHORT[..]].concat());
    let output = command.stdout(full()).output().unwrap();
    let finished = Finished::of(output, &project.path(""));
    assert_eq!(finished.code, Some(1), "{}", finished.said());
    assert!(finished.stderr.contains("cannot write the result"), "{}", finished.said());
    assert!(project.path("run/run.json").exists(), "it is saved all the same");
}
