//! What happens to the pods of a run while it is followed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::pods::Pod;

/// What happened to pods, each by its place.
#[derive(Default)]
pub(super) struct Troubles(Mutex<BTreeMap<String, String>>);

impl Troubles {
    /// Keeps what is wrong with these pods, and which of those known before are not there any more.
    pub fn note(&self, known: &[Pod], pods: &[Pod]) {
        let mut all = self.locked();
        for pod in known.iter().filter(|pod| pods.iter().all(|other| other.name != pod.name)) {
            all.entry(pod.place()).or_insert_with(|| "it was deleted".to_owned());
        }
        for (pod, trouble) in pods.iter().filter_map(|pod| Some((pod, pod.trouble.clone()?))) {
            all.insert(pod.place(), trouble);
        }
    }

    /// Keeps what happened to the pod at this place.
    pub fn add(&self, place: String, trouble: &str) {
        self.locked().insert(place, trouble.to_owned());
    }

    /// Returns a line for each pod.
    pub fn lines(&self) -> Vec<String> {
        self.locked().iter().map(|(place, trouble)| format!("pod {place}: {trouble}")).collect()
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, trouble: Option<&str>) -> Pod {
        Pod {
            name: name.to_owned(),
            index: 1,
            node: None,
            is_running: true,
            exit_code: None,
            trouble: trouble.map(str::to_owned),
            is_hopeless: false,
            last_words: None,
        }
    }

    #[test]
    fn a_pod_that_is_gone_keeps_the_reason_that_it_had() {
        let troubles = Troubles::default();
        let before = [pod("a", None), pod("b", Some("evicted")), pod("c", None)];
        troubles.note(&[], &before);
        assert_eq!(troubles.lines(), ["pod b: evicted"]);
        troubles.note(&before, &[pod("c", None)]);
        assert_eq!(troubles.lines(), ["pod a: it was deleted", "pod b: evicted"]);
    }
}
