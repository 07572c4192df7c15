//! `--profile`: to which functions the CPU time of a request goes.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::machine::alone_now;
use crate::common::processes::{named, signal, tree};
use crate::common::program::{Finished, Project};

const BRIEF: [&str; 6] = [
    "--scenario=direct",
    "--duration=2s",
    "--warmup=200ms",
    "--no-calibrate",
    "--format=json",
    "--out=result",
];

fn run(more: &[&str]) -> (Project, Finished) {
    let _machine = alone_now();
    let project = Project::real();
    let finished = project.run(&[&BRIEF[..], more].concat());
    (project, finished)
}

/// Returns the own CPU time of all functions that are listed, in µs per request, and that of the target.
fn own_and_whole(profile: &Value) -> (f64, f64) {
    let functions = profile["functions"].as_array().unwrap();
    let own = functions.iter().map(|of| of["own"]["us_per_request"].as_f64().unwrap()).sum();
    (own, profile["cpu_us_per_request"].as_f64().unwrap())
}

#[track_caller]
fn function<'a>(profile: &'a Value, file: &str) -> &'a Value {
    let mut functions = profile["functions"].as_array().unwrap().iter();
    let found = functions.find(|of| of["file"].as_str().unwrap().contains(file));
    found.unwrap_or_else(|| panic!("no function of {file} in {profile:#}"))
}

#[test]
fn functions_share_the_cpu_time_of_a_request() {
    let (project, finished) = run(&["--target=fastapi,sanic", "--rounds=2", "--profile=2"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = finished.json();
    for (target, file) in [("fastapi", "starlette"), ("sanic", "sanic")] {
        let targets = record["targets"].as_array().unwrap();
        let of = targets.iter().find(|of| of["name"] == target).unwrap();
        assert_eq!(of["rounds"].as_array().unwrap().len(), 2, "profiling rounds are no rounds");
        let profile = &of["profile"];
        assert_eq!((&profile["rounds"], &profile["failure"]), (&json!(2), &Value::Null));
        assert!(profile["samples"].as_u64().unwrap() > 50, "{profile}");
        let (own, whole) = own_and_whole(profile);
        assert!(own > 0.9 * whole && own < 1.001 * whole, "{own} of {whole}: {profile:#}");
        let [low, high] = [0, 1].map(|end| {
            function(profile, file)["with_calls"]["confidence_95"][end].as_f64().unwrap()
        });
        assert!(low <= high, "{low} {high}");
        let stacks = project.path(&format!("result/profile-{target}.collapsed"));
        assert!(std::fs::read_to_string(stacks).unwrap().contains(file), "{target}");
        let speedscope = project.path(&format!("result/profile-{target}.speedscope.json"));
        let file: Value = serde_json::from_slice(&std::fs::read(speedscope).unwrap()).unwrap();
        assert_eq!(file["profiles"][0]["type"], "sampled");
    }
    let logs = std::fs::read_dir(project.path("result")).unwrap();
    let logs = logs
        .filter(|log| log.as_ref().unwrap().file_name().to_str().unwrap().starts_with("fastapi-"));
    // The start before the first round, two rounds, and two profiling rounds.
    assert_eq!(logs.count(), 5, "each round has a start of its own");
}

#[test]
fn worker_processes_and_threads_are_sampled_together() {
    for (target, file) in [("django-gunicorn", "django"), ("flask", "flask")] {
        let words =
            [&format!("--target={target}"), "--server-workers=2", "--rounds=1", "--profile=2"];
        let (_, finished) = run(&words);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let record = finished.json();
        let profile = &record["targets"][0]["profile"];
        assert_eq!(profile["failure"], Value::Null);
        function(profile, file);
        let (own, whole) = own_and_whole(profile);
        assert!(own > 0.9 * whole, "{own} of {whole}: {profile:#}");
        assert_eq!(
            profile["functions"][0]["own"]["confidence_95"],
            Value::Null,
            "one measured round"
        );
    }
}

#[test]
fn threads_that_wait_are_not_on_a_cpu() {
    let words = ["--target=flask", "--rate=100", "--rounds=1", "--profile=2", "--duration=2s"];
    let project = Project::real();
    let finished = project.run(&[&BRIEF[..1], &BRIEF[2..], &words].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = finished.json();
    let profile = &record["targets"][0]["profile"];
    let samples = profile["samples"].as_u64().unwrap();
    // 800 moments at which ten threads wait, of which one has a request for about a millisecond of each ten. Were all
    // of them stopped at each moment, there would be more than a thousand samples.
    assert!(samples < 400, "{samples} samples of a server that mostly waits: {profile:#}");
}

#[test]
fn threads_that_wait_for_the_interpreter_are_counted() {
    let (_, finished) = run(&["--target=flask", "--rounds=1", "--profile=4", "--users=64"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = finished.json();
    let occupancy = &record["targets"][0]["profile"]["occupancy"];
    assert_eq!(occupancy["processes"], 1.0, "gunicorn's parent does not work: {occupancy:#}");
    assert!(occupancy["gil_held_percent"].as_f64().unwrap() > 5.0, "{occupancy:#}");
    assert!(occupancy["threads_for_gil"].as_f64().unwrap() > 0.0, "{occupancy:#}");
    let on_cpu = occupancy["threads_on_cpu"].as_f64().unwrap();
    assert!(on_cpu > 0.05 && on_cpu < 1.5, "ten threads share one CPU: {occupancy:#}");
}

/// A server whose pool has three threads, each of which waits for 20 ms.
const POOL: &str = r#"
import concurrent.futures, http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.wait_for_stock()
        self.send_response(200)
        self.end_headers()

    def wait_for_stock(self):
        time.sleep(0.02)

    def log_message(self, *_):
        pass

class Server(http.server.HTTPServer):
    request_queue_size = 64
    pool = concurrent.futures.ThreadPoolExecutor(3)

    def process_request(self, request, address):
        self.pool.submit(self.answer, request, address)

    def answer(self, request, address):
        self.finish_request(request, address)
        self.shutdown_request(request)

Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

#[test]
fn a_pool_whose_threads_all_wait_is_named() {
    let target = "[target.shop]\ncommand = [\"python3\", \"pool.py\", \"{port}\"]\n";
    let project = Project::bare().file("pool.py", POOL).file("loadgen.toml", target);
    let load = ["/", "-u8", "--duration=1s", "--warmup=200ms", "--no-calibrate", "--out=result"];
    let finished = project.run(&[&load[..], &["--rounds=1", "--profile=2", "--json"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = finished.json();
    let pool = &record["targets"][0]["profile"]["occupancy"]["pools"][0];
    let number = |of: &str| pool[of].as_f64().unwrap();
    assert_eq!(pool["file"], "concurrent/futures/thread.py", "{record:#}");
    assert!(number("threads") > 2.9 && number("idle") < 0.5, "{pool:#}");
    assert_eq!(pool["waits_most_in"]["function"], "Handler.wait_for_stock", "{pool:#}");
    let said = project.run(&["report", "result"]).stdout.replace("\n  ", "");
    assert!(said.contains("wait, most in Handler.wait_for_stock (pool.py)"), "{said}");
}

#[test]
fn the_processes_of_node_are_sampled_together() {
    let (project, finished) =
        run(&["--target=express", "--server-workers=2", "--rounds=2", "--profile=2"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = finished.json();
    let profile = &record["targets"][0]["profile"];
    assert_eq!(profile["failure"], Value::Null, "{}", finished.said());
    function(profile, "express/lib");
    let (own, whole) = own_and_whole(profile);
    assert!(own > 0.9 * whole && own < 1.001 * whole, "{own} of {whole}: {profile:#}");
    let occupancy = &profile["occupancy"];
    assert_eq!(occupancy["gil_held_percent"], Value::Null);
    assert!(occupancy["processes"].as_f64().unwrap() > 0.9, "{occupancy:#}");
    let stacks = std::fs::read_to_string(project.path("result/profile-express.collapsed")).unwrap();
    assert!(!stacks.contains("(idle)"), "{stacks}");
}

/// A server without a line of Python or JavaScript.
const PERL: &str = r#"
use IO::Socket::INET;
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$ARGV[0]", Listen => 64, ReuseAddr => 1) or die;
while (my $client = $server->accept) {
    while (<$client>) {
        last if /^\r/;
    }
    print $client "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    close $client;
}
"#;

/// A profiler that knows of each moment whether the process runs.
const SAMPLER: &str = r#"
$SIG{INT} = sub {
    print "main;$_ $seen{$_}\n" for sort keys %seen;
    exit;
};
while (1) {
    open my $stat, "<", "/proc/$ARGV[0]/stat" or exit 1;
    $seen{(split " ", <$stat>)[2] eq "R" ? "runs (server.pl)" : "waits (server.pl)"}++;
    select undef, undef, undef, 0.005;
}
"#;

fn perl(profile: &str) -> (Project, Finished) {
    let target =
        format!("[target.shop]\ncommand = [\"perl\", \"server.pl\", \"{{port}}\"]\n{profile}");
    let project = Project::bare().file("server.pl", PERL).file("loadgen.toml", &target);
    let project = project.file("sampler.pl", SAMPLER);
    let load =
        ["/", "-u2", "--duration=1s", "--warmup=200ms", "--no-calibrate", "--json", "--out=result"];
    let finished = project.run(&[&load[..], &["--rounds=1", "--profile=2"]].concat());
    (project, finished)
}

#[test]
fn a_server_of_another_language_keeps_its_result() {
    let (_, finished) = perl("");
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = finished.json();
    let why = record["targets"][0]["profile"]["failure"].as_str().unwrap();
    assert!(why.contains("none of its processes is Node.js, or can be read as Python"), "{why}");
    assert!(finished.stderr.contains("shop is not profiled: "), "{}", finished.said());
    assert!(record["targets"][0]["total"]["rate_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_target_has_a_profiler_of_its_own() {
    let (project, finished) = perl("profile.command = [\"perl\", \"sampler.pl\", \"{pid}\"]\n");
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = finished.json();
    let profile = &record["targets"][0]["profile"];
    assert_eq!(profile["failure"], Value::Null);
    function(profile, "server.pl");
    assert!(profile["samples"].as_u64().unwrap() > 5, "{profile:#}");
    assert_eq!(profile["occupancy"]["processes"], 0.0, "it tells of no process");
    let stacks = std::fs::read_to_string(project.path("result/profile-shop.collapsed")).unwrap();
    assert!(stacks.contains("main;runs (server.pl) "), "{stacks}");

    let (_, finished) = perl("profile.command = [\"perl\", \"-e\", \"die\"]\n");
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let why = &finished.json()["targets"][0]["profile"]["failure"];
    assert!(
        why.as_str().unwrap().contains("its profiler printed no stacks (exit status: 255)"),
        "{why}"
    );
}

#[test]
fn a_profiler_that_dies_costs_no_result() {
    let project = Project::real();
    let words = ["--target=fastapi", "--rounds=1", "--profile=3", "--duration=3s"];
    let mut command = project.command(&[&BRIEF[..1], &BRIEF[2..], &words].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let launcher = loop {
        // The guard has the launcher's command line in its own, too, and is the older process.
        let found = named(&tree(child.id()), "launcher --socket");
        if let [_, _] = found[..] {
            break found.into_iter().max().unwrap();
        }
        assert!(Instant::now() < deadline, "no launcher");
        std::thread::sleep(Duration::from_millis(20));
    };
    let words = std::fs::read(format!("/proc/{launcher}/cmdline")).unwrap();
    let words = String::from_utf8(words).unwrap();
    let socket =
        words.split('\0').skip_while(|word| *word != "--socket").nth(1).unwrap().to_owned();
    // The second socket of this name is that of who has asked for samples: the server is under load.
    let is_asked = || {
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        let of = |line: &&str| line.ends_with(&socket);
        sockets.lines().filter(of).count() > 1
    };
    while !is_asked() {
        assert!(Instant::now() < deadline, "nobody asked for samples");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    signal(launcher, Signal::KILL);
    let finished = Finished::of(child.wait_with_output().unwrap(), &project.path(""));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let target = &finished.json()["targets"][0];
    assert!(target["profile"]["failure"].as_str().unwrap().contains("signal 9"), "{target:#}");
    assert!(target["total"]["rate_per_s"].as_f64().unwrap() > 0.0);
}
