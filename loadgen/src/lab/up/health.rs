//! Checks the health of a lab's services.

use std::path::PathBuf;

use super::state::Urls;
use crate::lab::backends::redis;
use crate::lab::manifest::Ready;
use crate::lab::ready::{HealthCheck, HealthClients, Probe as _};
use crate::lab::{LabError, Manifest};
use crate::scenario::ServerUrl;

/// Name, URL and health of a service. The error describes the fault of an unhealthy service.
pub(super) type Health<'a> = (&'a str, &'a str, Result<(), String>);

/// Checks once whether each service is healthy.
pub async fn health<'a>(urls: &'a Urls, manifest: &Manifest) -> Result<Vec<Health<'a>>, LabError> {
    let mut all = Vec::new();
    for (name, url) in urls.targets.iter().chain(&urls.backends) {
        let (port, socket) = (port_of(url), ServerUrl::parse(url).ok().and_then(|url| url.socket));
        let healthy = match name.as_str() {
            "redis" => redis::Client::new(port, password_of(url)).ask(port).await,
            "postgres" => HealthCheck::Listens(None).ask(port).await,
            target => {
                let target = manifest.target(target).ok();
                let ready = target.map_or(&Ready::Listens, |target| &target.entry.ready);
                HealthCheck::of(&HealthClients::new(socket.map(PathBuf::from))?, ready)
                    .ask(port)
                    .await
            }
        };
        all.push((name.as_str(), url.as_str(), healthy));
    }
    Ok(all)
}

/// Returns the port of a URL that loadgen built: the number after the last colon; 0 without such a
/// number.
fn port_of(url: &str) -> u16 {
    let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next());
    port.and_then(|port| port.parse().ok()).unwrap_or(0)
}

/// Returns the password of a URL that loadgen built. The password is hexadecimal, so the password
/// contains no `:` or `@`.
fn password_of(url: &str) -> &str {
    let user = url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    user.and_then(|(user, _)| user.split_once(':')).map_or("", |(_, password)| password)
}
