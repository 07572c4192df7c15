//! Keeps a user's cookies, and the way to other servers to which redirects lead, from one response to the next
//! request. Works over the routes of our own transports alike; `reqwest` does the same by itself.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod jar;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Context;

use http::header::COOKIE;
use url::{Position, Url};

use self::jar::Jar;
use super::Headers;
use super::failure::{Failure, REDIRECTED, Work};
use super::redirect::{Request, becomes_get, have_one_origin, is_redirect};
use super::route::{Came, Route, Server};
use super::step_request::place;
use crate::plan::{Number, Plan};
use loadgen_measure::{Connections, ErrorKind, TraceContext};
use loadgen_scenario::{Action, Http, Scenario, Sharing, Step, TransportKind};

/// Most other servers to which the redirects of a round may lead.
const MOST_SERVERS: usize = 1_000;

/// State shared by the journeys of a process's users.
pub(super) struct Journeys {
    /// The plan of the round, without its steps.
    plan: Plan,
    /// For each step, whether its request takes the cookies of the user.
    adds_cookies: Vec<bool>,
    url: Url,
    kind: TransportKind,
    /// The servers to which redirects have led, by their origin.
    others: Mutex<BTreeMap<String, Result<Server, Failure>>>,
}

/// The cookies and ways of one user, with the redirects of its last request.
pub(super) struct Journey {
    shared: Arc<Journeys>,
    user: Number,
    /// `None` if the scenario keeps no cookies.
    jar: Option<Jar>,
    /// The origin of the server to which a redirect led last, and the way there.
    away: Option<(String, Route)>,
    /// Whether the last response came from there.
    is_away: bool,
    at: At,
    /// Whether a request was sent again, if redirects were followed.
    resent: bool,
    /// Number of redirects that the last request followed.
    followed: u32,
    /// These redirects, if samples are kept.
    hops: Vec<Hop>,
    keeps_samples: bool,
}

/// The last request to the server under load whose URL was needed. Most journeys are at the same place again and again.
#[derive(Default)]
struct At(Option<(String, Url)>);

impl At {
    fn url(&mut self, shared: &Journeys, target: &str) -> Url {
        match &self.0 {
            Some((last, url)) if last == target => url.clone(),
            _ => self.0.insert((target.to_owned(), shared.url(target))).1.clone(),
        }
    }
}

/// A redirect that was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The status of the redirect.
    pub status: u16,
    /// The URL to which it led.
    pub url: String,
}

impl Journeys {
    /// Returns what journeys share; `None` if the steps of the plan neither follow redirects nor keep cookies, or
    /// if the transport does it by itself.
    pub(super) fn of(plan: &Plan, kind: TransportKind) -> Option<Arc<Self>> {
        let Scenario { http, steps, .. } = &plan.scenario;
        let has_journeys = http.cookies || steps.iter().any(|step| step.redirects > 0);
        let url = plan.server().ok()?.url;
        if !has_journeys || kind == TransportKind::Reqwest {
            return None;
        }
        let adds_cookies = steps.iter().map(|step| {
            !step.action.needs_socket() && !step.headers.iter().any(|(name, _)| name == "cookie")
        });
        let adds_cookies = adds_cookies.collect();
        // Each user has its own connection to another server.
        let tls = http.tls.of_another_server();
        let http = Http { sharing: Sharing::default(), tls, ..http.clone() };
        let scenario =
            Scenario { http, steps: Vec::new(), rows: Vec::new(), ..plan.scenario.clone() };
        let plan = Plan { scenario, ..plan.clone() };
        Some(Arc::new(Self { plan, adds_cookies, url, kind, others: Mutex::default() }))
    }

    /// Returns the server of this URL.
    fn server(&self, url: &Url) -> Result<Server, Failure> {
        let wrong = |what: String| Failure::new(ErrorKind::Connect, what);
        let origin = url[..Position::BeforePath].to_owned();
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = others.get(&origin) {
            return server.clone();
        }
        if others.len() >= MOST_SERVERS {
            let what = format!("redirects lead to more than {MOST_SERVERS} servers");
            return Err(wrong(what));
        }
        // Without TLS, a server speaks HTTP/2 only by agreement.
        let kind = match (url.scheme(), self.url.scheme()) {
            ("http", "https") => TransportKind::Http1,
            _ => self.kind,
        };
        let plan = Plan { base_url: origin.clone(), ..self.plan.clone() };
        let server = Server::new(&plan, kind).map_err(wrong);
        others.insert(origin, server.clone());
        server
    }

    /// Returns the counts of the connections to other servers.
    pub(super) fn connections(&self) -> Connections {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Connections::default();
        others.values().flatten().for_each(|server| all.merge(&server.connections()));
        // The record has those of the server under load.
        all.addresses.clear();
        all.versions.clear();
        all
    }

    /// Returns the URL of a request to the server under load.
    fn url(&self, target: &str) -> Url {
        // Not joined: a target that begins with `//` names no host. The URL of a target that was sent can be parsed.
        let origin = &self.url[..Position::BeforePath];
        Url::parse(&format!("{origin}{target}")).unwrap_or_else(|_| self.url.clone())
    }
}

impl Journey {
    pub(super) fn new(shared: Arc<Journeys>, user: Number) -> Self {
        let jar = shared.plan.scenario.http.cookies.then(Jar::default);
        Self {
            shared,
            user,
            jar,
            away: None,
            is_away: false,
            at: At::default(),
            resent: false,
            followed: 0,
            hops: Vec::new(),
            keeps_samples: false,
        }
    }

    /// Begins another request, to the server under load.
    pub(super) fn begin(&mut self) {
        (self.is_away, self.followed, self.resent) = (false, 0, false);
        self.hops.clear();
    }

    /// Adds the user's cookies to the request that was rendered for the step at `index`, unless the step has its
    /// own.
    pub(super) fn add_cookies(&mut self, home: &mut Route, index: usize) {
        let shared = &self.shared;
        if let Some(jar) = self.jar.as_mut().filter(|_| shared.adds_cookies[index]) {
            let target = home.target();
            let cookies = jar.for_target(target, || shared.url(target));
            if !cookies.is_empty() {
                home.add_field(COOKIE.as_str(), cookies);
            }
        }
    }

    /// Keeps the cookies of the response to `step`, which has come from the server under load. Returns the next
    /// request, if the response is a redirect that the step follows.
    pub(super) fn arrived(
        &mut self,
        home: &Route,
        step: &Step,
    ) -> Result<Option<Request>, Failure> {
        let (status, headers) = home.head();
        keep(&mut self.jar, headers, || self.at.url(&self.shared, home.target()));
        if step.redirects == 0 || step.action != Action::Request || !is_redirect(status) {
            return Ok(None);
        }
        let Some(location) = headers.first("location") else { return Ok(None) };
        let url = self.at.url(&self.shared, home.target());
        let next = Request::of(step, url, home.rendered(!becomes_get(&step.method, status)))
            .redirected(status, location)?;
        self.resent = home.was_sent_again();
        self.note(status, &next);
        Ok(Some(next))
    }

    /// Sends `request`, to which a redirect leads, and those to which further redirects lead. The server under load is
    /// told that they belong to `trace`.
    pub(super) async fn follow(
        &mut self,
        home: &mut Route,
        mut request: Request,
        step: &Step,
        trace: Option<TraceContext>,
    ) -> Result<Came, Failure> {
        loop {
            let came = self.send(home, &request, step, trace).await?;
            let Self { jar, away, is_away, .. } = &mut *self;
            let (status, headers) = answering(away, *is_away, home).head();
            keep(jar, headers, || request.url.clone());
            let location = headers.first("location").filter(|_| is_redirect(status));
            let Some(location) = location else { return Ok(came) };
            let next = request.redirected(status, location)?;
            drop(came);
            if self.followed >= step.redirects {
                let message = format!("too many redirects: `redirects` allows {}", step.redirects);
                return Err(Failure::new(ErrorKind::Protocol, message));
            }
            self.note(status, &next);
            request = next;
        }
    }

    async fn send(
        &mut self,
        home: &mut Route,
        request: &Request,
        step: &Step,
        trace: Option<TraceContext>,
    ) -> Result<Came, Failure> {
        let is_away = !have_one_origin(&request.url, &self.shared.url);
        if is_away {
            let origin = &request.url[..Position::BeforePath];
            if self.away.as_ref().is_none_or(|(other, _)| other != origin) {
                let mut route = self.shared.server(&request.url)?.route(self.user);
                if self.keeps_samples {
                    route.keep_samples();
                }
                self.away = Some((origin.to_owned(), route));
            }
        }
        self.is_away = is_away;
        let route = answering_mut(&mut self.away, is_away, home);
        route.prepare(request);
        if let Some(jar) = &self.jar
            && request.fields.first("cookie").is_none()
        {
            let cookies = jar.for_url(&request.url);
            if !cookies.is_empty() {
                route.add_field(COOKIE.as_str(), &cookies);
            }
        }
        if let Some(context) = trace.filter(|_| !is_away) {
            route.add_field(Step::TRACEPARENT, &context.to_string());
        }
        let sent = route.send(step).await;
        self.resent |= route.was_sent_again();
        sent.map_err(|failure| match failure.kind {
            _ if self.is_away => {
                let place = place(&request.url);
                let message = format!("{place}, {REDIRECTED}: {}", failure.message);
                Failure::new(failure.kind, message)
            }
            // The request is another one than that of the step.
            _ => failure.with(Work::Possible),
        })
    }

    /// Returns the way over which the last response came; `home` is that to the server under load.
    pub(super) fn route<'r>(&'r self, home: &'r Route) -> &'r Route {
        answering(&self.away, self.is_away, home)
    }

    /// Like [`Self::route`].
    pub(super) fn route_mut<'r>(&'r mut self, home: &'r mut Route) -> &'r mut Route {
        answering_mut(&mut self.away, self.is_away, home)
    }

    /// Answers what another server sends while the user waits.
    pub(super) fn tend(&mut self, context: &mut Context<'_>) {
        if let Some((_, route)) = &mut self.away {
            route.tend(context);
        }
    }

    /// Keeps samples of the responses of other servers, too: see [`Route::keep_samples`].
    pub(super) fn keep_samples(&mut self) {
        self.keeps_samples = true;
    }

    /// Whether a request was sent again, the last one or one that led to it; `home` is as in [`Self::route`].
    pub(super) fn was_sent_again(&self, home: &Route) -> bool {
        self.resent || self.route(home).was_sent_again()
    }

    /// Notes a redirect to `next`, which is about to be followed.
    fn note(&mut self, status: u16, next: &Request) {
        self.followed += 1;
        if self.keeps_samples {
            self.hops.push(Hop { status, url: next.url.to_string() });
        }
    }

    /// The redirects that the last request followed, if samples are kept.
    pub(super) fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// Names of the cookies that the user keeps.
    pub(super) fn cookies(&self) -> Vec<String> {
        self.jar.as_ref().map(Jar::names).unwrap_or_default()
    }
}

/// Keeps the cookies of a response from the URL that `url` returns.
fn keep(jar: &mut Option<Jar>, headers: Headers<'_>, url: impl FnOnce() -> Url) {
    if let Some(jar) = jar
        && headers.first("set-cookie").is_some()
    {
        jar.take(&url(), headers);
    }
}

/// Returns the way over which the last response came.
fn answering<'r>(away: &'r Option<(String, Route)>, is_away: bool, home: &'r Route) -> &'r Route {
    match away {
        Some((_, route)) if is_away => route,
        _ => home,
    }
}

/// Like [`answering`].
fn answering_mut<'r>(
    away: &'r mut Option<(String, Route)>,
    is_away: bool,
    home: &'r mut Route,
) -> &'r mut Route {
    match away {
        Some((_, route)) if is_away => route,
        _ => home,
    }
}
