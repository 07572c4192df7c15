//! Sends each request of an open load at its own time, and does nothing else: a peer in `make bench`,
//! which shows what the open model costs without a load tester around it.
//!
//! One thread waits for a timer of the kernel, writes a request, waits for the response and reads
//! it, in one piece: the responses of the benchmark are short. The loop checks nothing and records only
//! latencies, and how much later than planned requests are sent. It prints both as JSON:
//!
//! ```sh
//! one_loop http://127.0.0.1:8000 CONNECTIONS REQUESTS_PER_SECOND SECONDS
//! ```

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, connections, rate, seconds] = &words[..] else {
        return Err("usage: one_loop URL CONNECTIONS REQUESTS_PER_SECOND SECONDS".into());
    };
    let mut open = linux::OpenLoop::new(url.trim_start_matches("http://"), connections.parse()?)?;
    let [latencies, delays] = open.run(rate.parse()?, seconds.parse()?)?.map(|mut times| {
        times.sort_unstable();
        let us = |share: f64| {
            let at = (times.len() as f64 * share) as usize;
            times.get(at).map(|time| time.as_micros())
        };
        serde_json::json!({ "p50": us(0.50), "p99": us(0.99) })
    });
    let shown = serde_json::json!({ "latency_us": latencies, "delay_us": delays });
    #[expect(clippy::print_stdout, reason = "the reader is a script that reads all")]
    {
        println!("{shown:#}");
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, Read, Write};
    use std::net::TcpStream;
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    use rustix::buffer::spare_capacity;
    use rustix::event::epoll;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
    /// Key of the timer among the keys of connections, which are their indices.
    const TIMER: u64 = u64::MAX;

    pub struct OpenLoop {
        poll: OwnedFd,
        timer: OwnedFd,
        connections: Vec<TcpStream>,
        /// Indices of the connections without a request.
        idle: Vec<usize>,
    }

    impl OpenLoop {
        pub fn new(address: &str, connections: usize) -> io::Result<Self> {
            let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            let events = epoll::EventFlags::IN | epoll::EventFlags::ET;
            let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)?;
            epoll::add(&poll, &timer, epoll::EventData::new_u64(TIMER), events)?;
            let opened = (0..connections).map(|index| {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                epoll::add(&poll, &stream, epoll::EventData::new_u64(index as u64), events)?;
                Ok(stream)
            });
            let connections: Vec<TcpStream> = opened.collect::<io::Result<_>>()?;
            let idle = (0..connections.len()).rev().collect();
            Ok(Self { poll, timer, connections, idle })
        }

        /// Sends `rate` requests per second at even distances. Returns their latencies, from the planned
        /// time of each request, and how much later than planned they were sent.
        pub fn run(&mut self, rate: f64, seconds: f64) -> io::Result<[Vec<Duration>; 2]> {
            let total = (rate * seconds) as u32;
            let gap = Duration::from_secs_f64(1.0 / rate);
            let start = Instant::now();
            let mut planned = vec![start; self.connections.len()];
            let mut latencies = Vec::with_capacity(total as usize);
            let mut delays = Vec::with_capacity(total as usize);
            let (mut sent, mut events, mut response) = (0, Vec::with_capacity(64), [0; 4096]);
            // Number of requests sent when the timer was set for the next one.
            let mut set_for = None;
            while latencies.len() < total as usize {
                while sent < total && start + gap * sent <= Instant::now() {
                    let Some(index) = self.idle.pop() else { break };
                    planned[index] = start + gap * sent;
                    delays.push(planned[index].elapsed());
                    self.connections[index].write_all(REQUEST)?;
                    sent += 1;
                }
                if sent < total && !self.idle.is_empty() && set_for != Some(sent) {
                    set_for = Some(sent);
                    self.wake_in((start + gap * sent).saturating_duration_since(Instant::now()))?;
                }
                events.clear();
                epoll::wait(&self.poll, spare_capacity(&mut events), None)?;
                for event in &events {
                    let key = event.data.u64();
                    if key == TIMER {
                        continue;
                    }
                    let index = key as usize;
                    match self.connections[index].read(&mut response) {
                        Ok(1..) => {
                            latencies.push(planned[index].elapsed());
                            self.idle.push(index);
                        }
                        Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Ok([latencies, delays])
        }

        fn wake_in(&self, wait: Duration) -> io::Result<()> {
            // A time of zero would stop the timer.
            let it_value = Timespec::try_from(wait.max(Duration::from_nanos(1)));
            let it_value = it_value.map_err(io::Error::other)?;
            let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
            let once = Itimerspec { it_interval, it_value };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
            Ok(())
        }
    }
}
