//! A server that streams events, and knows when it sent each of them.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A plan of events.
#[derive(Clone, Copy)]
pub struct Events {
    pub count: u32,
    pub every: Duration,
    /// Number of an event, from 0, and how much later than planned it and all later events are sent.
    pub late: Option<(u32, Duration)>,
}

/// A server that runs until the test's process ends.
pub struct Streaming {
    pub url: String,
    gaps: Arc<Mutex<Vec<Duration>>>,
}

impl Streaming {
    /// Starts a server that answers each request with these server-sent events, and then `[DONE]`.
    pub fn start(events: Events) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let gaps = Arc::<Mutex<Vec<Duration>>>::default();
        let of_all = gaps.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let gaps = of_all.clone();
                // The thread ends when the client closes the connection.
                thread::spawn(move || serve(stream.unwrap(), events, &gaps));
            }
        });
        Self { url, gaps }
    }

    /// Returns the times between the sends of successive events, in ascending order.
    pub fn gaps(&self) -> Vec<Duration> {
        let mut gaps = self.gaps.lock().unwrap().clone();
        gaps.sort_unstable();
        gaps
    }
}

fn serve(mut stream: TcpStream, events: Events, gaps: &Mutex<Vec<Duration>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        read_request(&mut stream)?;
        stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        let (mut due, mut last) = (Instant::now(), None);
        for number in 0..events.count {
            due += events.every;
            due +=
                events.late.filter(|(late, _)| *late == number).map_or(Duration::ZERO, |it| it.1);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let sent = Instant::now();
            write_chunk(&mut stream, &format!("data: {{\"number\": {number}}}\n\n"))?;
            if let Some(last) = last.replace(sent) {
                gaps.lock().unwrap().push(sent - last);
            }
        }
        write_chunk(&mut stream, "data: [DONE]\n\n")?;
        stream.write_all(b"0\r\n\r\n")?;
    }
}

fn read_request(stream: &mut TcpStream) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(())
}

fn write_chunk(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}
