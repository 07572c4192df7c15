//! Waits for the pods of a run to start: the servers first, which choose their nodes before the workers do.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;

use super::error::KubernetesError;
use super::follow::Follower;
use super::lifetime::begin_workers;
use super::pods::{Pod, quoted};
use super::server_pods::ServersNow;
use super::view::View;
use crate::text::{counted, say};

/// Time between two questions for pods that start.
const POLL: Duration = Duration::from_millis(500);

impl Follower<'_> {
    /// Waits until the manager has begun. Servers choose their nodes before the workers do, so that they keep apart.
    pub(super) async fn until_begun(&self, begun: Instant) -> Result<Vec<Pod>, KubernetesError> {
        if self.run.is_held {
            let count = self.run.server_count;
            self.until(begun, true, |_, servers| servers.are_placed(count)).await?;
            while let Err(error) = begin_workers(self.kubectl, self.run).await {
                // A connection that breaks may come back.
                if begun.elapsed() > self.start_limit {
                    return Err(error);
                }
                sleep(POLL).await;
            }
        }
        self.until(begun, true, |pods, _| pods.iter().any(Pod::is_begun_manager)).await
    }

    /// Waits until all pods run.
    pub(super) async fn until_all(&self, begun: Instant) -> Result<Vec<Pod>, KubernetesError> {
        let all = self.run.workers as usize + 1;
        let are_all = |pods: &[Pod], servers: &ServersNow| {
            let has_run =
                |pod: &&Pod| pod.is_running || (pod.exit_code.is_some() && pod.trouble.is_none());
            pods.iter().filter(has_run).count() == all && servers.are_ready()
        };
        // Lines would disturb the terminal, which is the manager's.
        self.until(begun, self.view != View::Live, are_all).await
    }

    /// Waits until the pods and the servers are as `is_ready` wants them; says what they wait for, if `is_loud`.
    async fn until(
        &self,
        begun: Instant,
        is_loud: bool,
        is_ready: impl Fn(&[Pod], &ServersNow) -> bool,
    ) -> Result<Vec<Pod>, KubernetesError> {
        let of = self.run.workers as usize + 1;
        let mut told = String::new();
        loop {
            let asked = self.pods().await;
            let servers = self.servers().await.unwrap_or_else(ServersNow::unknown);
            let pods = asked.as_deref().unwrap_or_default();
            if asked.is_ok() && is_ready(pods, &servers) {
                return asked;
            }
            let running = pods.iter().filter(|pod| pod.is_running).count() + servers.ready;
            let of = of + servers.of;
            let troubled = pods.iter().find_map(|pod| Some((pod, pod.trouble.as_ref()?)));
            let why = match &asked {
                Ok(_) => troubled
                    .map(|(pod, why)| format!("{}: {why}", pod.place()))
                    .or_else(|| servers.why.clone())
                    .or_else(|| servers.slow.clone()),
                // A connection that breaks may come back.
                Err(error) => Some(error.to_string()),
            };
            // A worker that has ended before it had anything to do does not come back.
            let has_failed = |pod: &Pod| pod.exit_code.is_some() && pod.trouble.is_some();
            let is_hopeless =
                servers.is_hopeless || pods.iter().any(|pod| pod.is_hopeless || has_failed(pod));
            if begun.elapsed() > self.start_limit || is_hopeless {
                let limit = Duration::from_secs(begun.elapsed().as_secs());
                let of_servers = asked.is_ok() && troubled.is_none() && servers.are_at_fault();
                if let Some(why) = why.clone().filter(|_| of_servers) {
                    let (ready, of) = (servers.ready, servers.of);
                    let probe = self.failed_probe(servers.troubled.as_deref()).await;
                    let why = [why].into_iter().chain(probe).collect::<Vec<_>>().join("; ");
                    return Err(KubernetesError::ServersNotStarted { ready, of, limit, why });
                }
                let why = match why {
                    Some(why) => why,
                    None => {
                        let said = self.warning(&self.run.name, "").await;
                        said.unwrap_or_else(|| "the cluster does not say why".to_owned())
                    }
                };
                return Err(KubernetesError::NotStarted { running, of, limit, why });
            }
            let mut now = format!("{running} of {} run", counted(of as u64, "pod"));
            if let Some(why) = why {
                now += &format!("; {why}");
            }
            if is_loud && now != told {
                say(&now);
                told = now;
            }
            sleep(POLL).await;
        }
    }

    /// Returns why a pod of a server was not ready, if the cluster says so.
    async fn failed_probe(&self, pod: Option<&str>) -> Option<String> {
        self.warning(pod?, ",reason=Unhealthy").await
    }

    /// Returns the last warning of the cluster about the object of this name, if there is one that fits `more`.
    async fn warning(&self, name: &str, more: &str) -> Option<String> {
        let selector = format!("--field-selector=involvedObject.name={name}{more}");
        let events = self.kubectl.json(&["get", "events", &selector], "").await.unwrap_or_default();
        let last = events["items"].as_array().and_then(|all| {
            let warnings = all.iter().filter(|event| event["type"] == "Warning");
            warnings.max_by_key(|event| event["metadata"]["creationTimestamp"].as_str()).cloned()
        });
        let message = last.as_ref().and_then(|event: &Value| event["message"].as_str());
        message.map(quoted)
    }
}
