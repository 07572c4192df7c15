//! Tests the page as browsers ask for it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::{Controls, Entry, LivePage};
use crate::measure::ErrorKind;
use crate::report::view::{Forecast, PlannedLoad, Second, View};

/// A page of a view, and what its controls were asked for.
struct Served {
    page: LivePage,
    known: watch::Sender<View>,
    asked: Arc<Mutex<Vec<String>>>,
}

fn served() -> Served {
    let view = View {
        scenario: "<b>buy</b>".to_owned(),
        forecast: Forecast::new(2, Some(Duration::from_secs(10))),
        ..View::default()
    };
    let known = watch::Sender::new(view);
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let to = asked.clone();
    let carry_out = move |text: String| {
        to.lock().unwrap().push(text.clone());
        Box::pin(async move {
            if text == "\"stop\"" { Ok("ends".to_owned()) } else { Err("no".to_owned()) }
        }) as _
    };
    let carry_out = Arc::new(carry_out);
    let controls = Controls { token: "abc".to_owned(), can_change: true, carry_out };
    let address = "127.0.0.1".parse().unwrap();
    let page =
        LivePage::open(&address, "id1".to_owned(), known.subscribe(), Some(controls)).unwrap();
    Served { page, known, asked }
}

impl Served {
    fn host(&self) -> &str {
        self.page.url().strip_prefix("http://").unwrap().strip_suffix('/').unwrap()
    }

    /// Sends a request with these lines of headers, and returns the connection.
    fn send(&self, line: &str, headers: &[&str], body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let text = format!("{line} HTTP/1.1\r\n{headers}content-length: {length}\r\n\r\n{body}");
        stream.write_all(text.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    /// Sends a request that ends its connection, and returns the response.
    fn ask(&self, line: &str, headers: &[&str], body: &str) -> String {
        let host = format!("host: {}", self.host());
        let headers = [&["connection: close", host.as_str()], headers].concat();
        let mut response = String::new();
        self.send(line, &headers, body).read_to_string(&mut response).unwrap();
        response
    }

    fn viewer(&self, last: Option<&str>) -> Viewer {
        let last = last.map(|id| format!("last-event-id: {id}"));
        let host = format!("host: {}", self.host());
        let headers: Vec<&str> = last.as_deref().into_iter().chain([host.as_str()]).collect();
        Viewer(self.send("GET /events", &headers, ""))
    }

    /// Begins a round with one second.
    fn measure(&self, number: u32) {
        self.known.send_modify(|view| view.begin("sanic", &[], Instant::now()));
        self.page.tell(Entry::Round { number, target: "sanic".to_owned() });
        let second = Second { answered: 7, p50_us: Some(1_500), ..Second::default() };
        self.page.tell(Entry::Second(second, Some(PlannedLoad::Users(10))));
    }
}

/// A browser that is told what happens.
struct Viewer(BufReader<TcpStream>);

impl Viewer {
    /// Waits until this many entries of the past were told, and returns the last ID and the entries.
    fn past(&mut self, count: usize) -> (String, String) {
        let mut past = Vec::new();
        loop {
            let (id, told) = self.next().unwrap();
            past.extend(told["past"].as_array().unwrap().iter().cloned());
            assert!(past.len() <= count, "{past:?}");
            if past.len() == count {
                return (id, Value::Array(past).to_string());
            }
        }
    }

    /// Returns the ID and the content of the next message; `None` at the end.
    fn next(&mut self) -> Option<(String, Value)> {
        let (mut id, mut line) = (String::new(), String::new());
        loop {
            line.clear();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.trim_end().to_owned();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let content = serde_json::from_str(data).unwrap();
                // The ID follows the data.
                self.0.read_line(&mut line).unwrap();
                let id = line.split_once("id: ").map_or(id, |(_, id)| id.trim_end().to_owned());
                return Some((id, content));
            }
        }
    }
}

#[test]
fn late_viewers_get_the_past_and_each_gets_news_once() {
    let served = served();
    served.measure(1);
    let mut first = served.viewer(None);
    let (id, past) = first.past(2);
    assert_eq!(id, "id1 2");
    assert_eq!(past, r#"[{"round":[1,"sanic"]},{"second":[7,0,1500,null,null,10]}]"#);
    served.page.tell(Entry::Over { rate_per_s: 6.5, failed: 0 });
    let over = r#"[{"over":[6.5,0]}]"#;
    assert_eq!(first.past(1).1, over);
    let (_, told) = first.next().unwrap();
    assert_eq!((&told["past"], &told["ended"]), (&json!([]), &Value::Null));
    assert_eq!(told["now"]["place"], json!([1, 2]));
    // A browser that lost its connection, and one that comes from another command.
    assert_eq!(served.viewer(Some("id1 2")).past(1).1, over);
    let (id, past) = served.viewer(Some("id0 2")).past(3);
    assert!(id == "id1 3" && past.starts_with(r#"[{"round""#), "{id} {past}");
}

#[test]
fn what_is_known_now_has_errors_steps_workers_and_usage() {
    let served = served();
    served.known.send_modify(|view| {
        view.workers.joined(vec![(0, Some("web-7".to_owned()))]);
        view.begin("sanic", &["log in".to_owned(), "buy".to_owned()], Instant::now());
        view.usage.insert("target".to_owned(), Default::default());
        let round = view.round.as_mut().unwrap();
        round.load = Some(PlannedLoad::Rate(50.0));
        round.errors.insert(ErrorKind::Status, 3);
        round.examples.insert(ErrorKind::Status, "503 <script>".to_owned());
        view.note("a note");
    });
    let mut viewer = served.viewer(None);
    let mut told = viewer.next().unwrap().1;
    while told["now"]["round"].is_null() {
        told = viewer.next().unwrap().1;
    }
    let mut now = told["now"].take();
    assert!(now["left_s"].take().as_u64().is_some_and(|left| (15..=20).contains(&left)));
    assert!(now["done"].take().as_f64().is_some_and(|done| (0.0..0.3).contains(&done)));
    insta::assert_snapshot!(serde_json::to_string_pretty(&now).unwrap());
}

#[test]
fn the_page_has_no_text_of_the_target_as_html_and_loads_only_its_own_files() {
    let served = served();
    let page = served.ask("GET /", &[], "");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("<h1>&lt;b&gt;buy&lt;/b&gt;</h1>"), "{page}");
    for header in [
        "content-security-policy: default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
    ] {
        assert!(page.contains(header), "{header}: {page}");
    }
    assert!(!page.contains("style=") && !page.contains("<style") && !page.contains("onclick"));
    let files = page.split(['"']).filter(|part| part.starts_with('/'));
    let mut seen = 0;
    for file in files {
        let response = served.ask(&format!("GET {file}"), &[], "");
        assert!(response.starts_with("HTTP/1.1 200"), "{file}: {response}");
        seen += 1;
    }
    assert_eq!(seen, 6);
    assert!(served.ask("GET /report.html", &[], "").starts_with("HTTP/1.1 404"));
}

#[test]
fn other_sites_and_other_names_are_refused() {
    let served = served();
    for headers in
        [["host: evil.example.net", "a: b"], ["host: localhost", "origin: http://evil.example.net"]]
    {
        for line in ["GET /", "GET /events", "GET /report.html", "POST /control"] {
            let mut response = String::new();
            let all = [&headers[..], &["connection: close", "authorization: Bearer abc"]].concat();
            served.send(line, &all, "\"stop\"").read_to_string(&mut response).unwrap();
            assert!(response.starts_with("HTTP/1.1 403"), "{line}: {response}");
        }
    }
    assert!(served.asked.lock().unwrap().is_empty());
}

#[test]
fn only_those_with_the_token_may_change_the_load() {
    let served = served();
    for headers in [&[][..], &["authorization: Bearer abd"], &["authorization: Bearer "]] {
        let response = served.ask("POST /control", headers, "\"stop\"");
        assert!(response.starts_with("HTTP/1.1 403"), "{response}");
    }
    assert!(
        served.ask("GET /control", &["authorization: Bearer abc"], "").starts_with("HTTP/1.1 405")
    );
    let long = "x".repeat(5_000);
    let token = &["authorization: Bearer abc"];
    assert!(served.ask("POST /control", token, &long).starts_with("HTTP/1.1 413"));
    assert!(served.asked.lock().unwrap().is_empty());
    let response = served.ask("POST /control", token, "\"stop\"");
    assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("ends"), "{response}");
    let response = served.ask("POST /control", token, "{\"users\":5}");
    assert!(response.starts_with("HTTP/1.1 409") && response.ends_with("no"), "{response}");
    assert_eq!(*served.asked.lock().unwrap(), ["\"stop\"", "{\"users\":5}"]);
}

#[test]
fn a_viewer_has_the_report_before_the_page_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    std::fs::write(&path, "the report").unwrap();
    let served = served();
    let mut viewer = served.viewer(None);
    viewer.next().unwrap();
    let host = served.host().to_owned();
    let loads = std::thread::spawn(move || {
        while viewer.next().unwrap().1["ended"] != "report" {}
        let mut stream = TcpStream::connect(&host).unwrap();
        write!(stream, "GET /report.html HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")
            .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        drop(viewer);
        response
    });
    let began = Instant::now();
    let Served { page, .. } = served;
    page.end(Some(path), || false);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let response = loads.join().unwrap();
    assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("the report"), "{response}");
}

#[test]
fn a_command_without_a_result_says_so_and_nobody_is_waited_for_forever() {
    let served = served();
    let mut viewer = served.viewer(None);
    viewer.next().unwrap();
    // They read nothing, and more than fits into their connection is sent to them.
    for answered in 0..20_000 {
        served.page.tell(Entry::Second(Second { answered, ..Second::default() }, None));
    }
    let _silent: Vec<_> = (0..20).map(|_| served.viewer(None)).collect();
    viewer.past(20_000);
    let Served { page, .. } = served;
    let began = Instant::now();
    drop(page);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let mut ended = Value::Null;
    while let Some((_, told)) = viewer.next() {
        ended = told["ended"].clone();
    }
    assert_eq!(ended, "nothing");
}

#[test]
fn who_asks_for_nothing_takes_no_place() {
    let served = served();
    let silent: Vec<_> = (0..LivePage::CONNECTIONS + 50)
        .map(|_| TcpStream::connect(served.host()).unwrap())
        .collect();
    let page = served.ask("GET /", &[], "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("connection: close"), "{page}");
    drop(silent);
}

#[tokio::test]
async fn a_connection_over_http2_has_no_viewers() {
    let served = served();
    let stream = tokio::net::TcpStream::connect(served.host()).await.unwrap();
    let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let url = format!("http://{}/events", served.host());
    let request = axum::http::Request::get(url).header("host", served.host()).body(()).unwrap();
    let (response, _) = client.send_request(request, true).unwrap();
    assert_eq!(response.await.unwrap().status(), 505);
}

#[test]
fn a_taken_port_is_an_error() {
    let served = served();
    let address = served.host().parse().unwrap();
    let known = served.known.subscribe();
    let error = LivePage::open(&address, "id2".to_owned(), known, None).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}
