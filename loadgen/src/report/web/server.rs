//! Serves the live page.

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode, Version};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::{self, Stream};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::access::{Controls, refusal};
use super::now::now;
use super::page;
use super::past::Entry;
use super::shared::{Shared, Stage};
use super::viewer::Viewer;
use crate::report::listen::{Bound, Bounded, ServeAddress, Time, in_background};
use crate::report::view::View;

/// Time between two messages to a viewer, which are sent even if nothing changed, because times advance.
const EVERY: Duration = Duration::from_secs(1);

/// Longest wait, at the end, for browsers to ask for the report, and longest wait for them to load it.
const PATIENCE: Duration = Duration::from_secs(5);
const LOADING: Duration = Duration::from_secs(5);

/// Greatest length of a request to change the load, in bytes.
const LONGEST: usize = 4096;

const HTML: &str = "text/html; charset=utf-8";

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The live page of a command, served until the value is dropped.
#[derive(Debug)]
pub struct LivePage {
    url: String,
    shared: Arc<Shared>,
    entries: mpsc::UnboundedSender<Entry>,
    thread: Option<JoinHandle<()>>,
}

impl LivePage {
    /// Greatest number of connections at the same time. A viewer has one, and six more for a moment while the
    /// page opens.
    pub const CONNECTIONS: u16 = 250;

    /// Serves the page of a command at this address. `id` is a random text, and `known` is the known
    /// state.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub(in crate::report) fn open(
        address: &ServeAddress,
        id: String,
        known: watch::Receiver<View>,
        controls: Option<Controls>,
    ) -> io::Result<Self> {
        let Bound { listener, shown: url, own_name } = address.bind()?;
        let shared = Arc::new(Shared {
            id,
            kind: known.borrow().kind,
            title: known.borrow().scenario.clone(),
            names: vec![own_name, address.host.clone()],
            controls,
            past: Mutex::default(),
            now: watch::Sender::new(Arc::from("{}")),
            stage: watch::Sender::new(Stage::GoesOn),
            closed: CancellationToken::new(),
            viewers: AtomicUsize::new(0),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let of_thread = shared.clone();
        let (entries, told) = mpsc::unbounded_channel();
        let serve = move || runtime.block_on(serve(listener, of_thread, known, told));
        let thread = in_background("live page", serve)?;
        Ok(Self { url: format!("http://{url}/"), shared, entries, thread: Some(thread) })
    }

    /// URL of the page, without the right to change the load.
    pub(in crate::report) fn url(&self) -> &str {
        &self.url
    }

    /// Tells all viewers, also those to come, what happened in a round.
    pub(in crate::report) fn tell(&self, entry: Entry) {
        // Nobody listens if the thread has ended with an error.
        let _ = self.entries.send(entry);
    }

    /// Returns the number of browsers that show the page.
    #[must_use]
    pub fn viewers(&self) -> usize {
        self.shared.viewers.load(Ordering::Relaxed)
    }

    /// Shows the report at this path, or that there is none, and returns when all viewers have it, or when
    /// `is_cut_short` says so, at the latest after 10 s.
    pub fn end(self, report: Option<PathBuf>, is_cut_short: impl Fn() -> bool) {
        self.shared.stage.send_replace(Stage::Ended(report));
        let until = Instant::now() + PATIENCE;
        while self.viewers() > 0 && Instant::now() < until && !is_cut_short() {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for LivePage {
    fn drop(&mut self) {
        self.shared.stage.send_if_modified(|stage| {
            let goes_on = *stage == Stage::GoesOn;
            if goes_on {
                *stage = Stage::Ended(None);
            }
            goes_on
        });
        self.shared.closed.cancel();
        // The panic hook has already reported a panic of the thread.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

async fn serve(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    mut known: watch::Receiver<View>,
    mut told: mpsc::UnboundedReceiver<Entry>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let routes = Router::new()
        .route("/", get(root))
        .route("/events", get(events))
        .route("/report.html", get(report))
        .route("/control", post(control).layer(DefaultBodyLimit::max(LONGEST)));
    let files = page::FILES.iter().fold(routes, |routes, (path, kind, text)| {
        routes.route(path, get(move || async move { file(kind, text) }))
    });
    let guarded = files.layer(middleware::from_fn_with_state(shared.clone(), guard));
    let guarded = guarded.with_state(shared.clone());
    let listener = Bounded::new(listener, LivePage::CONNECTIONS, Time::UntilResponse);
    let server = axum::serve(listener, guarded)
        .with_graceful_shutdown(shared.closed.clone().cancelled_owned());
    let too_late = async {
        shared.closed.cancelled().await;
        tokio::time::sleep(LOADING).await;
    };
    tokio::select! {
        _ = server.into_future() => {}
        () = too_late => {}
        () = keep_up(&shared, &mut known, &mut told) => {}
    }
}

/// Turns what was told and what is known into text, once a second, and at the end.
async fn keep_up(
    shared: &Shared,
    known: &mut watch::Receiver<View>,
    told: &mut mpsc::UnboundedReceiver<Entry>,
) {
    let mut stage = shared.stage.subscribe();
    loop {
        while let Ok(entry) = told.try_recv() {
            shared.past().add(&entry);
        }
        // The command waits to change what is known while it is borrowed.
        let now = now(&known.borrow(), Instant::now());
        shared.now.send_replace(Arc::from(now.to_string()));
        let _ = tokio::time::timeout(EVERY, stage.changed()).await;
    }
}

/// Refuses what others may not ask for, and adds to each response what browsers must keep to.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    // Over HTTP/2, a connection could have any number of viewers.
    let is_http1 = request.version() < Version::HTTP_2;
    let mut response = match refusal(request.headers(), &shared.names) {
        Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
        None if !is_http1 => StatusCode::HTTP_VERSION_NOT_SUPPORTED.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    if is_http1 {
        // Browsers would keep connections that others need.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // The report has a policy of its own.
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    response
}

/// Returns the page.
async fn root(State(shared): State<Arc<Shared>>) -> Response {
    let can_change = shared.controls.as_ref().map(|controls| controls.can_change);
    ([(CONTENT_TYPE, HTML)], page::page(shared.kind, &shared.title, can_change)).into_response()
}

fn file(kind: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, kind)], text).into_response()
}

/// Carries out a request to change the load.
async fn control(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(controls) = &shared.controls else {
        let why = "The load can be changed from a page only with --web-control.";
        return (StatusCode::FORBIDDEN, why).into_response();
    };
    if !controls.allow(&headers) {
        let why = "This URL does not allow to change the load: use that with #control=.";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let Ok(text) = String::from_utf8(body.into()) else {
        return (StatusCode::BAD_REQUEST, "The request is no text.").into_response();
    };
    match (controls.carry_out)(text).await {
        Ok(done) => done.into_response(),
        Err(why) => (StatusCode::CONFLICT, why).into_response(),
    }
}

/// Returns the report, once the command has ended.
async fn report(State(shared): State<Arc<Shared>>) -> Response {
    let stage = shared.stage.borrow().clone();
    let Stage::Ended(Some(path)) = stage else {
        return (StatusCode::NOT_FOUND, "There is no report yet.").into_response();
    };
    let Ok(text) = tokio::fs::read(path).await else {
        return (StatusCode::NOT_FOUND, "The report cannot be read.").into_response();
    };
    let own = HeaderValue::from_static("frame-ancestors 'none'");
    let headers = [(CONTENT_TYPE, HeaderValue::from_static(HTML)), (CONTENT_SECURITY_POLICY, own)];
    (headers, text).into_response()
}

/// Tells a viewer what happened so far, and then what happens.
async fn events(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    // A browser that lost its connection says which message it had last.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.split_once(' '));
    let last = last.filter(|(id, _)| *id == shared.id).and_then(|(_, next)| next.parse().ok());
    let viewer = Viewer::new(shared, last.unwrap_or(0));
    Sse::new(stream::unfold(viewer, |mut viewer| async {
        let event = viewer.next_event().await?;
        Some((Ok(event), viewer))
    }))
}
