//! A proxy between a worker and its manager, which fails on demand: passes on
//! what both say late, slowly, or not at all.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// Treatment of the connections through the proxy, and of new ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line {
    /// Passes everything on, each byte after `delay`, at `bytes_per_s` in each direction.
    Open { delay: Duration, bytes_per_s: Option<u32> },
    /// Keeps connections and accepts more, but passes nothing on.
    Stalled,
    /// Drops the connection to the manager, and keeps the worker's open: the worker is not told.
    HalfOpen,
    /// Closes connections, and new ones at once.
    Cut,
}

impl Line {
    pub const FREE: Self = Self::Open { delay: Duration::ZERO, bytes_per_s: None };
}

/// A proxy on loopback, which ends when dropped.
pub struct Proxy {
    pub address: SocketAddr,
    line: watch::Sender<Line>,
    heard: Heard,
}

/// All bytes from both sides.
type Heard = Arc<Mutex<Vec<u8>>>;

impl Proxy {
    /// Starts a proxy for the manager at this address, which may begin to listen later.
    pub async fn before(manager: &str, line: Line) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, line) = watch::channel(line);
        let (manager, heard) = (manager.to_owned(), Heard::default());
        let listening = heard.clone();
        tokio::spawn(async move {
            let mut told = line.clone();
            loop {
                tokio::select! {
                    Ok((worker, _)) = listener.accept() => {
                        let listening = listening.clone();
                        tokio::spawn(connect(worker, manager.clone(), line.clone(), listening));
                    }
                    // The `Proxy` was dropped.
                    Err(_) = told.wait_for(|_| false) => return,
                }
            }
        });
        Self { address, line: sender, heard }
    }

    /// Returns all bytes that the proxy has received from both sides.
    pub fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap().clone()
    }

    /// Changes the line from now on, and returns the time of the change.
    pub fn set(&self, line: Line) -> std::time::Instant {
        self.line.send_replace(line);
        std::time::Instant::now()
    }
}

async fn connect(
    mut worker: TcpStream,
    manager: String,
    mut line: watch::Receiver<Line>,
    heard: Heard,
) {
    let is_open = |line: &Line| matches!(line, Line::Open { .. } | Line::Cut);
    match line.wait_for(is_open).await.map(|line| *line) {
        Ok(Line::Open { .. }) => {}
        _ => return,
    }
    match TcpStream::connect(manager).await {
        Ok(manager) => carry(worker, manager, line, heard).await,
        Err(_) => drop(worker.shutdown().await),
    }
}

/// Passes on what both sides say, until one of them or the line ends the connection.
async fn carry(
    worker: TcpStream,
    manager: TcpStream,
    mut line: watch::Receiver<Line>,
    heard: Heard,
) {
    for stream in [&worker, &manager] {
        stream.set_nodelay(true).unwrap();
    }
    let (mut from_worker, mut to_worker) = worker.into_split();
    let (mut from_manager, mut to_manager) = manager.into_split();
    let (up, down) = (line.clone(), line.clone());
    tokio::select! {
        _ = async {
            tokio::join!(
                pump(&mut from_worker, &mut to_manager, up, &heard),
                pump(&mut from_manager, &mut to_worker, down, &heard),
            )
        } => {}
        _ = line.wait_for(|line| matches!(line, Line::Cut | Line::HalfOpen)) => {}
    }
    if *line.borrow() == Line::HalfOpen {
        drop((from_manager, to_manager));
        // The worker's socket stays open.
        let _ = line.wait_for(|line| *line == Line::Cut).await;
    }
}

/// Passes on one direction, and then its end.
async fn pump(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    line: watch::Receiver<Line>,
    heard: &Heard,
) {
    let (arrived, leaving) = mpsc::channel(64);
    // An error while reading or writing ends both.
    let _ = tokio::try_join!(read(from, arrived, heard), write(to, leaving, line));
}

type Arrived = (Instant, Vec<u8>);

async fn read(
    from: &mut OwnedReadHalf,
    arrived: mpsc::Sender<Arrived>,
    heard: &Heard,
) -> Result<(), ()> {
    let mut bytes = [0; 4096];
    loop {
        match from.read(&mut bytes).await {
            Ok(0) => return Ok(()),
            Ok(n) => {
                heard.lock().unwrap().extend_from_slice(&bytes[..n]);
                arrived.send((Instant::now(), bytes[..n].to_vec())).await.map_err(drop)?;
            }
            Err(_) => return Err(()),
        }
    }
}

async fn write(
    to: &mut OwnedWriteHalf,
    mut leaving: mpsc::Receiver<Arrived>,
    mut line: watch::Receiver<Line>,
) -> Result<(), ()> {
    while let Some((arrived, bytes)) = leaving.recv().await {
        let open = |line: &Line| matches!(line, Line::Open { .. });
        let Line::Open { delay, bytes_per_s } = *line.wait_for(open).await.map_err(drop)? else {
            return Err(());
        };
        sleep_until(arrived + delay).await;
        if let Some(rate) = bytes_per_s {
            sleep(Duration::from_secs(1) * bytes.len() as u32 / rate).await;
        }
        // The line may have stalled during the wait.
        line.wait_for(open).await.map_err(drop)?;
        to.write_all(&bytes).await.map_err(drop)?;
    }
    to.shutdown().await.map_err(drop)
}
