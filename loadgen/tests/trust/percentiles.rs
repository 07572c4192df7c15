//! Percentiles, compared with those that a server with a known distribution measured itself.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::program::Project;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::net::TcpListener;

/// A server whose answers take 1, 10, 100 or 1,000 ms in shares of 85, 12, 2.5 and
/// 0.5 %, so that none of the usual percentiles lies at the step from one time to the
/// next. The server measures each answer itself.
struct Known {
    url: String,
    taken: Arc<Mutex<Vec<Duration>>>,
}

struct Draws {
    chance: Mutex<ChaCha8Rng>,
    taken: Arc<Mutex<Vec<Duration>>>,
}

impl Known {
    async fn start(seed: u64) -> Self {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let chance = Mutex::new(ChaCha8Rng::seed_from_u64(seed));
        let draws = Arc::new(Draws { chance, taken: taken.clone() });
        let app = Router::new().route("/", get(answer)).with_state(draws);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, taken }
    }

    /// Returns the `q` quantile of the times that the server measured, in ms.
    fn quantile(&self, q: f64) -> f64 {
        let mut taken = self.taken.lock().unwrap().clone();
        taken.sort_unstable();
        let rank = (q * taken.len() as f64).ceil() as usize;
        taken[rank.max(1) - 1].as_secs_f64() * 1e3
    }
}

async fn answer(State(draws): State<Arc<Draws>>) -> &'static str {
    let began = Instant::now();
    let ms = match draws.chance.lock().unwrap().random_range(0..1_000) {
        0..850 => 1,
        850..970 => 10,
        970..995 => 100,
        _ => 1_000,
    };
    tokio::time::sleep(Duration::from_millis(ms)).await;
    draws.taken.lock().unwrap().push(began.elapsed());
    "done"
}

/// p50 to p99 lie within 1 % or 0.5 ms, whichever is more, of the server's own percentiles.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "make trust: on a busy machine its bounds say nothing"]
async fn percentiles_equal_those_measured_by_the_server() {
    let project = Project::real().file(
        "known.toml",
        "[load]\nusers = 4\nduration = \"20s\"\n[[step]]\nname = \"known\"\nget = \"/\"\n",
    );
    println!("{:26} {:>5} {:>10} {:>10}", "load", "", "server ms", "loadgen ms");
    let mut wrong = Vec::new();
    for (seed, (load, model)) in (1..).zip([
        ("open, 300/s", &["--rate=300"][..]),
        ("open, 300/s, 4 workers", &["--rate=300", "--workers=4"]),
        ("closed, 4 users", &[]),
        ("closed, 4 users, 4 workers", &["--workers=4"]),
    ]) {
        let server = Known::start(seed).await;
        let out = format!("--out=run{seed}");
        let url = format!("--url={}", server.url);
        let arguments = [&["-s=known.toml", "--format=json", &url, &out], model].concat();
        let finished = tokio::task::block_in_place(|| project.run(&arguments));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let latency = &finished.json()["targets"][0]["total"]["latency_us"];
        for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
            let (known, found) = (server.quantile(q), latency[name].as_f64().unwrap() / 1e3);
            println!("{load:26} {name:>5} {known:10.3} {found:10.3}");
            if (found - known).abs() > f64::max(0.5, known / 100.0) {
                wrong.push(format!("{load}: {name} {found} ms, of the server {known} ms"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
