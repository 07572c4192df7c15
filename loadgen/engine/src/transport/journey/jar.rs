//! The cookies of one user.

use std::collections::VecDeque;
use std::time::SystemTime;

use cookie_store::{Cookie, CookieExpiration, CookieStore, StoreAction};
use url::Url;

use crate::transport::Headers;

/// Longest name and value of a cookie together, in bytes; a longer cookie is ignored (RFC 6265bis, section 5.6).
const LONGEST: usize = 4096;

/// Longest cookie with its attributes, in bytes. One attribute may have 1,024 bytes.
const LONGEST_WITH_ATTRIBUTES: usize = 2 * LONGEST;

/// Most cookies of a user. One more drops the oldest. As many as Chromium keeps for a domain; RFC 6265bis, section
/// 6.1, asks for at least 50.
pub(super) const MOST: usize = 180;

/// Cookies, with the header for the server that the user loads.
#[derive(Default)]
pub(super) struct Jar {
    store: CookieStore,
    /// Domain, path and name of each cookie, in the order in which they came.
    order: VecDeque<[String; 3]>,
    /// The header that was made last; `None` if the cookies have changed since.
    header: Option<Header>,
}

/// Value of the header `cookie` for requests to one server.
struct Header {
    /// Path for which it was made; `None` if it is the same for all paths.
    path: Option<String>,
    value: String,
    /// Time at which a cookie expires; `None` if none does.
    until: Option<SystemTime>,
}

impl Jar {
    /// Keeps the cookies that a response from `url` sets, and forgets those that it has expire.
    pub(super) fn take(&mut self, url: &Url, headers: Headers<'_>) {
        for (name, value) in headers.all() {
            if name.eq_ignore_ascii_case("set-cookie")
                && let Ok(text) = std::str::from_utf8(&value)
            {
                self.take_one(url, text);
            }
        }
    }

    fn take_one(&mut self, url: &Url, text: &str) {
        // RFC 6265bis, section 5.6.
        if text.len() > LONGEST_WITH_ATTRIBUTES {
            return;
        }
        if text.chars().any(|c| c.is_ascii_control() && c != '\t') {
            return;
        }
        let Ok(cookie) = Cookie::parse(text, url) else { return };
        if cookie.name().len() + cookie.value().len() > LONGEST || !may_have_name(&cookie, url) {
            return;
        }
        let key =
            [String::from(&cookie.domain), String::from(&cookie.path), cookie.name().to_owned()];
        match self.store.insert(cookie.into_owned(), url) {
            Ok(StoreAction::Inserted) => self.order.push_back(key),
            Ok(StoreAction::ExpiredExisting) => self.remove(&key),
            Ok(StoreAction::UpdatedExisting) => {}
            Err(_) => return,
        }
        self.header = None;
        if self.order.len() > MOST {
            let is_expired = |key: &&[String; 3]| !self.store.contains(&key[0], &key[1], &key[2]);
            let mut removed: Vec<_> = self.order.iter().filter(is_expired).cloned().collect();
            if removed.is_empty() {
                removed.extend(self.order.front().cloned());
            }
            removed.iter().for_each(|key| self.remove(key));
        }
    }

    fn remove(&mut self, key: &[String; 3]) {
        let [domain, path, name] = key;
        self.store.remove(domain, path, name);
        self.order.retain(|other| other != key);
    }

    /// Returns the value of the header `cookie` for a request to `target`, a path with a query, of the server that
    /// the user loads; empty without cookies for it. `url` returns the URL of the request.
    pub(super) fn for_target(&mut self, target: &str, url: impl Fn() -> Url) -> &str {
        if self.order.is_empty() {
            return "";
        }
        let path = target.split('?').next().unwrap_or_default();
        let holds = |header: &Header| {
            header.path.as_ref().is_none_or(|made| made == path)
                && header.until.is_none_or(|until| SystemTime::now() < until)
        };
        if !self.header.as_ref().is_some_and(holds) {
            let all: Vec<_> = self.store.iter_unexpired().collect();
            let path = all.iter().any(|cookie| &*cookie.path != "/").then(|| path.to_owned());
            let until = all.iter().filter_map(|cookie| match cookie.expires {
                CookieExpiration::AtUtc(at) => Some(SystemTime::from(at)),
                CookieExpiration::SessionEnd => None,
            });
            let until = until.min();
            self.header = Some(Header { path, value: self.for_url(&url()), until });
        }
        self.header.as_ref().map_or("", |header| &header.value)
    }

    /// Returns the value of the header `cookie` for a request to `url`; empty without cookies for it. Cookies with
    /// longer paths come first, then those that came earlier (RFC 6265bis, section 5.8.3).
    pub(super) fn for_url(&self, url: &Url) -> String {
        let mut cookies = self.store.matches(url);
        let age = |cookie: &Cookie<'_>| {
            let is = |key: &[String; 3]| {
                key[2] == cookie.name()
                    && key[1] == *cookie.path
                    && key[0] == String::from(&cookie.domain)
            };
            self.order.iter().position(is)
        };
        cookies.sort_by_cached_key(|cookie| (usize::MAX - cookie.path.len(), age(cookie)));
        let pairs = cookies.iter().map(|cookie| format!("{}={}", cookie.name(), cookie.value()));
        pairs.collect::<Vec<_>>().join("; ")
    }

    /// Returns the names of the cookies, in the order in which they came.
    pub(super) fn names(&self) -> Vec<String> {
        let is_kept = |key: &&[String; 3]| self.store.contains(&key[0], &key[1], &key[2]);
        self.order.iter().filter(is_kept).map(|[_, _, name]| name.clone()).collect()
    }
}

/// Whether a cookie keeps the promise of its name (RFC 6265bis, section 4.1.3).
fn may_have_name(cookie: &Cookie<'_>, url: &Url) -> bool {
    let begins = |prefix: &str| {
        cookie.name().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let is_secure = cookie.secure() == Some(true) && url.scheme() == "https";
    let is_of_host = is_secure && cookie.domain().is_none() && cookie.path() == Some("/");
    match (begins("__Host-"), begins("__Secure-")) {
        (true, _) => is_of_host,
        (_, true) => is_secure,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::fields::Fields;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    /// Returns a jar that took these cookies from `from`.
    fn jar(from: &str, cookies: &[&str]) -> Jar {
        let mut jar = Jar::default();
        take(&mut jar, from, cookies);
        jar
    }

    fn take(jar: &mut Jar, from: &str, cookies: &[&str]) {
        let mut fields = Fields::default();
        cookies.iter().for_each(|cookie| fields.push(b"set-cookie", cookie.as_bytes()));
        jar.take(&url(from), Headers::Fields(&fields));
    }

    #[test]
    fn cookies_return_to_where_they_came_from() {
        let jar = jar("http://a.test/x/y", &["sid=7; HttpOnly", "p=1; Path=/p", "all=2; Path=/"]);
        for (to, expected) in [
            ("http://a.test/x/z", "sid=7; all=2"),
            ("http://a.test/p", "p=1; all=2"),
            ("http://a.test/p/q?r", "p=1; all=2"),
            ("http://a.test/pq", "all=2"),
            ("http://a.test:81/", "all=2"),
            ("http://b.a.test/", ""),
            ("http://b.test/", ""),
        ] {
            assert_eq!(jar.for_url(&url(to)), expected, "{to}");
        }
    }

    #[test]
    fn a_domain_widens_and_secure_narrows() {
        let from = "https://www.a.test/";
        let jar = jar(from, &["d=1; Domain=a.test", "s=2; Secure", "no=3; Domain=b.test"]);
        assert_eq!(jar.for_url(&url("https://www.a.test/")), "d=1; s=2");
        assert_eq!(jar.for_url(&url("http://www.a.test/")), "d=1");
        assert_eq!(jar.for_url(&url("http://api.a.test/")), "d=1");
        assert_eq!(jar.for_url(&url("http://b.test/")), "");
    }

    #[test]
    fn a_new_value_keeps_its_place_and_an_expired_cookie_goes() {
        let mut jar = jar("http://a.test/", &["a=1", "b=2", "c=3"]);
        take(&mut jar, "http://a.test/", &["a=4", "b=; Max-Age=0", "never=; Max-Age=0"]);
        assert_eq!(jar.for_url(&url("http://a.test/")), "a=4; c=3");
        assert_eq!(jar.names(), ["a", "c"]);
        take(&mut jar, "http://a.test/", &["a=; expires=Thu, 01 Jan 1970 00:00:00 GMT"]);
        assert_eq!(jar.names(), ["c"]);
    }

    #[test]
    fn the_header_is_kept_until_it_no_longer_holds() {
        let mut jar = Jar::default();
        let of = |jar: &mut Jar, target: &str| {
            let to = format!("http://a.test{target}");
            jar.for_target(target, || url(&to)).to_owned()
        };
        assert_eq!(of(&mut jar, "/"), "");
        take(&mut jar, "http://a.test/", &["a=1"]);
        let never = || -> Url { panic!("the header holds for all paths") };
        assert_eq!(of(&mut jar, "/x?y"), "a=1");
        assert_eq!(jar.for_target("/other", never), "a=1");
        take(&mut jar, "http://a.test/", &["b=2; Path=/b"]);
        assert_eq!(of(&mut jar, "/x"), "a=1");
        assert_eq!(of(&mut jar, "/b"), "b=2; a=1");
        assert_eq!(jar.for_target("/b?query", never), "b=2; a=1");
        take(&mut jar, "http://a.test/", &["c=3; Max-Age=1", "b=; Path=/b; Max-Age=0"]);
        assert_eq!(of(&mut jar, "/b"), "a=1; c=3");
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(of(&mut jar, "/b"), "a=1");
    }

    #[test]
    fn a_jar_is_bounded() {
        let mut jar = Jar::default();
        for number in 0..MOST + 5 {
            take(&mut jar, "http://a.test/", &[&format!("c{number}=1")]);
        }
        assert_eq!(jar.names().len(), MOST);
        assert_eq!(jar.names()[0], "c5");
        let value = "x".repeat(LONGEST);
        take(&mut jar, "http://a.test/", &[&format!("long={value}")]);
        take(&mut jar, "http://a.test/", &[&format!("deep=1; Path=/{}", "x".repeat(2 * LONGEST))]);
        assert_eq!((jar.names().len(), jar.names().last().unwrap().as_str()), (MOST, "c184"));
        // Those that have expired go first.
        take(&mut jar, "http://a.test/", &["short=1; Max-Age=1"]);
        std::thread::sleep(std::time::Duration::from_millis(1100));
        take(&mut jar, "http://a.test/", &["new=1"]);
        let names = jar.names();
        assert_eq!(
            (names.len(), names[0].as_str(), names.last().unwrap().as_str()),
            (MOST, "c6", "new")
        );
    }

    #[test]
    fn the_prefix_of_a_name_is_a_promise() {
        let all = [
            "__Host-a=1; Secure; Path=/",
            "__Host-b=1; Path=/",
            "__Host-c=1; Secure; Path=/; Domain=a.test",
            "__Secure-d=1; Secure",
            "__secure-e=1",
        ];
        assert_eq!(jar("https://a.test/", &all).names(), ["__Host-a", "__Secure-d"]);
        assert_eq!(jar("http://a.test/", &all).names(), [""; 0]);
    }
}
