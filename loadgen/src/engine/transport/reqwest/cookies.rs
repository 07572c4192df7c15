//! Cookies for each user, in a client that all share: a client for each costs 4 ms and 100 KB.

use std::future::Future;
use std::sync::Arc;

use reqwest::cookie::{CookieStore, Jar};
use reqwest::header::HeaderValue;
use url::Url;

tokio::task_local! {
    static JAR: Arc<Jar>;
}

/// Sends and reads with the cookies of `jar`. hyper's own tasks, which drive the connections, have
/// nothing to do with cookies.
pub async fn with_cookies<T>(jar: Arc<Jar>, exchange: impl Future<Output = T>) -> T {
    JAR.scope(jar, exchange).await
}

/// The cookies of whatever user sends.
pub struct OfTheUser;

impl CookieStore for OfTheUser {
    fn set_cookies(&self, headers: &mut dyn Iterator<Item = &HeaderValue>, url: &Url) {
        // Outside of an exchange there is no user to keep them.
        let _ = JAR.try_with(|jar| jar.set_cookies(headers, url));
    }

    fn cookies(&self, url: &Url) -> Option<HeaderValue> {
        JAR.try_with(|jar| jar.cookies(url)).ok().flatten()
    }
}
