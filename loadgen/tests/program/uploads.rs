//! Uploads of files that no process keeps in memory.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::common::program::Project;

const LENGTH: u64 = 1 << 30;

const SCENARIO: &str = "load = { users = 1 }\n[[step]]\nname = \"film\"\nput = \"/film\"\n\
                        timeout = \"60s\"\nbody = { file = \"film.bin\" }\n";

/// Starts a server that counts the bytes of bodies, and forgets them.
async fn server() -> (String, Arc<AtomicU64>) {
    let received = Arc::new(AtomicU64::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = received.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(BufReader::with_capacity(1 << 18, stream), count.clone()));
        }
    });
    (url, received)
}

async fn serve(mut stream: BufReader<TcpStream>, count: Arc<AtomicU64>) -> io::Result<()> {
    loop {
        let mut left = 0;
        let mut line = String::new();
        while stream.read_line(&mut line).await? > 2 {
            if let Some(length) = line.strip_prefix("content-length: ") {
                left = length.trim_end().parse().unwrap();
            }
            line.clear();
        }
        if line.is_empty() {
            return Ok(());
        }
        while left > 0 {
            let here = stream.fill_buf().await?.len().min(left);
            if here == 0 {
                return Ok(());
            }
            stream.consume(here);
            left -= here;
            count.fetch_add(here as u64, Ordering::Relaxed);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
    }
}

/// Returns a project with a file of 1 GiB, which takes no room on the disk.
fn project() -> Project {
    let project = Project::real().file("mine.toml", SCENARIO);
    File::create(project.path("film.bin")).unwrap().set_len(LENGTH).unwrap();
    project
}

fn number(document: &Value, pointer: &str) -> f64 {
    document
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{pointer}: {document}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gibibyte_is_uploaded_at_constant_memory() {
    for (more, iterations) in [(&[][..], 2), (&["--workers=1"], 1)] {
        let ((url, received), project) = (server().await, project());
        let often = format!("--iterations={iterations}");
        let fixed =
            ["-s=mine.toml", "--url", &url, "--warmup=0s", "--rounds=1", "--format=json", &often];
        let finished = tokio::task::block_in_place(|| project.run(&[&fixed[..], more].concat()));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let document = finished.json();
        // Another request verifies the scenario before the round.
        assert_eq!(received.load(Ordering::Relaxed), (iterations + 1) * LENGTH);
        let memory = number(&document, "/targets/0/resources/generator/memory_max_bytes");
        assert!(memory < 200e6, "{memory} bytes");
        let [uploaded, rate] = ["uploaded_bytes_per_s", "rate_per_s"]
            .map(|field| number(&document, &format!("/targets/0/steps/0/{field}")));
        assert!((uploaded / (rate * LENGTH as f64) - 1.0).abs() < 1e-9, "{uploaded} and {rate}");
        assert!(rate > 0.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_tells_how_fast_files_were_uploaded() {
    let ((url, _), project) = (server().await, project());
    let arguments = ["-s=mine.toml", "--url", &url, "--warmup=0s", "--rounds=1", "--iterations=1"];
    let finished = tokio::task::block_in_place(|| project.run(&arguments));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let mut lines = finished.stdout.lines().skip_while(|line| !line.contains("uploaded MB/s"));
    assert!(lines.next().unwrap().ends_with("MB a request"), "{}", finished.stdout);
    assert!(lines.next().unwrap().ends_with("1,074"), "{}", finished.stdout);
}

#[test]
fn what_sends_no_large_file_says_so() {
    let project = project();
    let check = |name: &str, text: &str| {
        std::fs::write(project.path(name), text).unwrap();
        let finished = project.run(&["check", name]);
        assert_eq!(finished.code, Some(2), "{}", finished.said());
        finished.stderr.replace("\n  │ ", " ")
    };
    let said = check("other.toml", &format!("http = {{ transport = \"reqwest\" }}\n{SCENARIO}"));
    assert!(
        said.contains("`reqwest` sends no file of more than 16 MiB, as the step `film`"),
        "{said}"
    );
    let said = check(
        "socket.toml",
        "[[step]]\nconnect = \"/\"\n[[step]]\nsend = { file = \"film.bin\" }\n",
    );
    assert!(said.contains("a message has at most 16 MiB"), "{said}");
}
