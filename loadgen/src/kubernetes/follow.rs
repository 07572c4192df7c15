//! Follows a run in a cluster, new or found, fetches its result, and removes it.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::cluster_run::ClusterRun;
use super::error::KubernetesError;
use super::fetch::{Fetched, Unsaved, decline, fetch};
use super::hand_over::{LEFT, TAKEN};
use super::kubectl::{
    ATTACH, CREATE, CREATE_SERVERS, FOLLOW, FOLLOW_SERVERS, Kubectl, LOG, PATCH, Right,
};
use super::lifetime::{UnderWay, create, remove};
use super::manifests::Manifests;
use super::pods::Pod;
use super::server_pods::ServersNow;
use super::troubles::Troubles;
use super::view::View;
use crate::text::say;

/// Time between two questions for pods that run.
const LATER: Duration = Duration::from_secs(3);

/// Time without a connection to the manager after which loadgen gives up. The manager waits longer, so that another
/// loadgen can take its result.
const LOST: Duration = Duration::from_secs(600);

/// Time for a run to stop.
const STOP_LIMIT: Duration = Duration::from_secs(90);

/// Follows a run in a cluster.
pub struct Follower<'a> {
    /// `kubectl` for the cluster.
    pub kubectl: &'a Kubectl,
    /// The run.
    pub run: &'a ClusterRun,
    /// View of the run.
    pub view: View,
    /// Time for all pods to start.
    pub start_limit: Duration,
    /// Folder for the result.
    pub folder: &'a Path,
    /// Cancelled when the run must stop.
    pub interrupt: CancellationToken,
}

/// How a run in a cluster ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Exit code of loadgen in the manager's pod; `None` if the run was interrupted before it began.
    pub exit_code: Option<u8>,
    /// Events of pods that did not end by themselves.
    pub troubles: Vec<String>,
    /// Whether something of the run may be left in the cluster.
    pub is_left: bool,
}

impl Follower<'_> {
    /// Carries out a new run. Nothing of it is left in the cluster, unless its result can still be taken there.
    ///
    /// # Errors
    /// If the cluster refuses it, does not start all pods in time, or loses the manager.
    pub async fn carry_out(&self, manifests: &Manifests) -> Result<Followed, KubernetesError> {
        tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return Ok(Followed::default()),
            checked = self.check_to_create() => checked?,
        }
        let under_way = UnderWay::begin(self.kubectl, self.run);
        let created = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => Ok(false),
            created = create(self.kubectl, manifests) => created.map(|()| true),
        };
        let followed = match created {
            Ok(true) => {
                let again = self.kubectl.follow(&self.run.name);
                let name = &self.run.name;
                say(format!(
                    "the run is job/{name}; if this loadgen is killed, take it up with `{again}`"
                ));
                self.begin().await
            }
            Ok(false) => Ok(Followed::default()),
            Err(error) => Err(error),
        };
        self.leave(followed, under_way).await
    }

    /// Takes up a run that is in the cluster, in any state. Removes the run as [`Self::carry_out`] does.
    ///
    /// # Errors
    /// If the run does not begin in time, or its result is gone.
    pub async fn take_up(&self) -> Result<Followed, KubernetesError> {
        let patch = self.run.is_held.then_some(PATCH);
        self.check(patch.as_slice()).await?;
        let under_way = UnderWay::begin(self.kubectl, self.run);
        let pods = self.pods().await?;
        let followed = match (pods.into_iter().find(Pod::is_begun_manager), &self.run.over) {
            (Some(_), None) if self.run.is_held => self.begin().await,
            (Some(manager), _) => self.attend(&manager, None).await,
            (None, None) => self.begin().await,
            (None, Some(over)) => {
                let (name, why) = (self.run.name.clone(), over.clone());
                Err(KubernetesError::ResultGone { name, why })
            }
        };
        self.leave(followed, under_way).await
    }

    async fn check_to_create(&self) -> Result<(), KubernetesError> {
        let of_servers = self.run.servers.iter().flat_map(|_| CREATE_SERVERS);
        let rights: Vec<Right> = CREATE.into_iter().chain(of_servers).collect();
        self.check(&rights).await
    }

    /// Checks the cluster, and the rights for following a run and these.
    async fn check(&self, more: &[Right]) -> Result<(), KubernetesError> {
        let view = if self.view == View::Live { ATTACH } else { LOG };
        let of_servers = self.run.servers.iter().flat_map(|_| FOLLOW_SERVERS);
        let rights = more.iter().copied().chain(FOLLOW).chain(of_servers).chain([view]);
        self.kubectl.check(rights).await
    }

    /// Removes a run that was followed, unless there is something to take or to read there.
    async fn leave(
        &self,
        followed: Result<Followed, KubernetesError>,
        under_way: UnderWay,
    ) -> Result<Followed, KubernetesError> {
        let mut is_left = true;
        let is_fetched = followed.as_ref().is_ok_and(|followed| followed.exit_code.is_some());
        if !followed.as_ref().is_err_and(KubernetesError::leaves_the_run) {
            let give_up = async {
                if !is_fetched {
                    say("removing the run from the cluster");
                    self.give_up().await;
                }
            };
            let (removed, ()) = tokio::join!(remove(self.kubectl, self.run), give_up);
            is_left = !removed;
        }
        drop(under_way);
        followed.map(|followed| Followed { is_left, ..followed })
    }

    /// Tells the manager, if it runs, that nobody will take its result, for which it would wait when its pod is to end.
    async fn give_up(&self) {
        let pods = self.pods().await.unwrap_or_default();
        if let Some(manager) = pods.iter().find(|pod| pod.index == 0 && pod.is_running) {
            decline(self.kubectl, &manager.name).await;
        }
    }

    /// Waits for the manager of a run that has not begun, and attends the run.
    async fn begin(&self) -> Result<Followed, KubernetesError> {
        let begun = Instant::now();
        let started = tokio::select! {
            biased;
            // It may have begun since it was last asked for.
            () = self.interrupt.cancelled() => self.pods().await.unwrap_or_default(),
            started = self.until_begun(begun) => started?,
        };
        match started.into_iter().find(Pod::is_begun_manager) {
            Some(manager) => self.attend(&manager, Some(begun)).await,
            None if self.interrupt.is_cancelled() => Ok(Followed::default()),
            None => Err(KubernetesError::ManagerGone("it was never there".to_owned())),
        }
    }

    /// Shows the run until its end, and fetches its result. `begun` is when the pods began to start; `None` if all may have
    /// run already.
    async fn attend(
        &self,
        manager: &Pod,
        begun: Option<Instant>,
    ) -> Result<Followed, KubernetesError> {
        let (over, troubles) = (CancellationToken::new(), Troubles::default());
        let followed = async {
            let followed = tokio::select! {
                biased;
                fetched = self.fetch(manager, &troubles) => fetched,
                error = self.watch(begun, &troubles) => Err(error),
                () = self.stopped() => {
                    let limit = humantime::format_duration(STOP_LIMIT);
                    let why = format!("{}: it did not stop within {limit}", manager.place());
                    Err(KubernetesError::ManagerGone(why))
                }
            };
            over.cancel();
            followed
        };
        let (followed, ()) =
            tokio::join!(followed, self.view.show(self.kubectl, &manager.name, &over));
        followed
    }

    /// Ends when a run that the user has stopped takes too long to stop.
    async fn stopped(&self) {
        self.interrupt.cancelled().await;
        if self.view != View::Live {
            say("stopping the run, to fetch what was measured");
        }
        sleep(STOP_LIMIT).await;
    }

    /// Keeps what happened to the pods of servers.
    async fn note_servers(&self, troubles: &Troubles) {
        for (place, trouble) in self.servers().await.unwrap_or_default().troubles {
            troubles.add(place, &trouble);
        }
    }

    /// Waits until all workers run, if they have just begun to start, and then keeps what happens to them. Ends only if
    /// some do not start: they would be awaited for long.
    async fn watch(&self, begun: Option<Instant>, troubles: &Troubles) -> KubernetesError {
        let mut known = match begun {
            Some(begun) => match self.until_all(begun).await {
                Ok(pods) => pods,
                Err(error) => return error,
            },
            None => Vec::new(),
        };
        loop {
            sleep(LATER).await;
            let Ok(pods) = self.pods().await else { continue };
            troubles.note(&known, &pods);
            self.note_servers(troubles).await;
            known = pods;
        }
    }

    pub(super) async fn pods(&self) -> Result<Vec<Pod>, KubernetesError> {
        Ok(Pod::all(&self.kubectl.json(&["get", "pods", &self.run.selector], "").await?))
    }

    pub(super) async fn servers(&self) -> Result<ServersNow, KubernetesError> {
        let Some(selector) = &self.run.servers else { return Ok(ServersNow::default()) };
        let words = ["get", "deployments.apps,pods", selector];
        Ok(ServersNow::of(&self.kubectl.json(&words, "").await?))
    }

    /// Waits for the end of the run, and fetches its result. A broken connection is made again.
    async fn fetch(&self, manager: &Pod, troubles: &Troubles) -> Result<Followed, KubernetesError> {
        let mut lost = None::<Instant>;
        loop {
            let (why, was_alive) =
                match fetch(self.kubectl, &manager.name, self.folder, &self.interrupt).await {
                    Fetched::Unsaved(unsaved) => return Err(self.unsaved(unsaved)),
                    Fetched::All(fetch, code) => {
                        // Before the end of the manager, with which the cluster ends what is left of the run.
                        troubles.note(&[], &self.pods().await.unwrap_or_default());
                        self.note_servers(troubles).await;
                        let troubles = troubles.lines();
                        fetch.done().await;
                        return Ok(Followed { exit_code: Some(code), troubles, is_left: true });
                    }
                    Fetched::Broken { why, was_alive } => (why, was_alive),
                };
            if let Ok(pods) = self.pods().await {
                troubles.note(&[], &pods);
                let pod = pods.into_iter().find(|pod| pod.name == manager.name);
                match pod {
                    Some(pod) if pod.exit_code.is_none() => {}
                    Some(pod) => return self.ended(&pod, troubles),
                    None => return Err(self.without_manager(manager).await),
                }
            }
            if was_alive || lost.is_none() {
                lost = Some(Instant::now());
                if self.view != View::Live {
                    say(format!("the connection to the manager is lost; trying again: {why}"));
                }
            }
            if lost.is_some_and(|since| since.elapsed() > LOST) {
                let again = self.kubectl.follow(&self.run.name);
                return Err(KubernetesError::Lost { again, why });
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    fn unsaved(&self, unsaved: Unsaved) -> KubernetesError {
        let again = self.kubectl.follow(&self.run.name);
        match unsaved {
            Unsaved::Elsewhere(why) => KubernetesError::Unsaved(why),
            Unsaved::Nowhere(why) => KubernetesError::Unfetched { again, why },
        }
    }

    /// Returns how a run ended whose manager has ended without handing its result over to this process.
    fn ended(&self, manager: &Pod, troubles: &Troubles) -> Result<Followed, KubernetesError> {
        let place = manager.place();
        if let Some(why) =
            manager.last_words.as_deref().filter(|words| [TAKEN, LEFT].contains(words))
        {
            let (name, why) = (self.run.name.clone(), why.to_owned());
            return Err(KubernetesError::ResultGone { name, why });
        }
        if manager.exit_code == Some(130) {
            // A second Ctrl-C on its terminal.
            troubles.add(place, "it was interrupted, and has no result");
            return Ok(Followed {
                exit_code: Some(130),
                troubles: troubles.lines(),
                is_left: true,
            });
        }
        let how = manager.trouble.as_deref();
        let how = how.unwrap_or("it was asked to end before its result was taken");
        Err(KubernetesError::ManagerGone(format!("{place}: {how}")))
    }

    /// Returns what became of a run whose manager's pod is not there any more.
    async fn without_manager(&self, manager: &Pod) -> KubernetesError {
        let name = self.run.name.clone();
        match ClusterRun::find(self.kubectl, &name).await {
            Ok(found) if found.selector == self.run.selector => match found.over {
                Some(why) => KubernetesError::ResultGone { name, why },
                None => {
                    KubernetesError::ManagerGone(format!("{}: it was deleted", manager.place()))
                }
            },
            Err(error @ KubernetesError::Refused { .. }) => error,
            _ => KubernetesError::Removed(name),
        }
    }
}
