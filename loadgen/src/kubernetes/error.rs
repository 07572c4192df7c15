//! Errors of runs in a cluster.

use std::io;
use std::time::Duration;

use miette::Diagnostic;
use thiserror::Error;

/// Error of a run in a cluster.
#[derive(Debug, Error, Diagnostic)]
pub enum KubernetesError {
    /// `kubectl` could not be started.
    #[error("cannot run kubectl: {0}")]
    #[diagnostic(
        code(no_kubectl),
        help("install kubectl, and set it up for the cluster: `kubectl get nodes` must work")
    )]
    NoKubectl(io::Error),
    /// The cluster, or `kubectl`, refused a request.
    #[error("kubectl {what}: {why}")]
    #[diagnostic(
        code(kubectl_failed),
        help(
            "correct what the cluster names; or, if kubectl does not reach it, check KUBECONFIG, --context and --namespace: \
             `kubectl get jobs` must work"
        )
    )]
    Refused {
        /// The first words of the command.
        what: String,
        /// The words of `kubectl`.
        why: String,
    },
    /// The user may not do what a run needs.
    #[error("you may not {0} in this namespace")]
    #[diagnostic(
        code(no_rights),
        help("ask for a Role as in docs/how-to/use-kubernetes.md, or use another --namespace")
    )]
    NoRights(String),
    /// There is a Job of this name.
    #[error("there is a job {0} already")]
    #[diagnostic(
        code(name_taken),
        help(
            "choose another --name; take up that run: `loadgen k8s follow {0}`; or remove it: `kubectl delete job {0}`"
        )
    )]
    NameTaken(String),
    /// The connection to the cluster is lost, where the run goes on.
    #[error("the connection to the cluster is lost, and the run goes on there: {why}")]
    #[diagnostic(
        code(connection_lost),
        help(
            "take the run up again when the cluster can be reached: `{again}`. The run waits for that until an hour after its end"
        )
    )]
    Lost {
        /// Command that takes the run up again.
        again: String,
        /// The words of `kubectl`.
        why: String,
    },
    /// There is no Job of this name.
    #[error("there is no run {name} {place}")]
    #[diagnostic(
        code(no_run),
        help(
            "`kubectl get jobs --selector app.kubernetes.io/name=loadgen` lists those of a namespace. A run whose result \
             was taken is removed; --namespace and --context name another place"
        )
    )]
    NoRun {
        /// Name of the Job.
        name: String,
        /// Where it was looked for.
        place: String,
    },
    /// The Job of this name is not loadgen's.
    #[error("the job {0} is not a run of loadgen")]
    #[diagnostic(
        code(not_a_run),
        help("name a job of `kubectl get jobs --selector app.kubernetes.io/name=loadgen`")
    )]
    NotARun(String),
    /// The Job of this name was rendered.
    #[error(
        "the run {0} is of `loadgen k8s render`: it hands no result over, but prints its result in its log"
    )]
    #[diagnostic(
        code(no_hand_over),
        help(
            "follow its log: `kubectl logs --follow --selector \
             batch.kubernetes.io/job-name={0},batch.kubernetes.io/job-completion-index=0`"
        )
    )]
    NoHandOver(String),
    /// The Job of this name is suspended.
    #[error("the run {0} has not begun: its job is suspended, as loadgen creates it")]
    #[diagnostic(
        code(run_suspended),
        help(
            "if the loadgen that created it has ended, nothing will run: remove it with `kubectl delete job {0}`, and \
             begin again with `loadgen k8s run`"
        )
    )]
    Suspended(String),
    /// The run has ended, and its result is not there any more.
    #[error("the result of the run {name} is gone: {why}")]
    #[diagnostic(
        code(result_gone),
        help(
            "if no other loadgen has the result, begin again with `loadgen k8s run`. The cluster removes the job within an hour \
             of its end; `kubectl delete job {name}` does so at once"
        )
    )]
    ResultGone {
        /// Name of the Job.
        name: String,
        /// Reason for which the result is gone.
        why: String,
    },
    /// The run was removed by somebody else.
    #[error("the run {0} was removed from the cluster, and its result with it")]
    #[diagnostic(
        code(run_removed),
        help(
            "another loadgen that followed the run has the result, or somebody has deleted the job: begin again with \
             `loadgen k8s run`"
        )
    )]
    Removed(String),
    /// The cluster is too old.
    #[error("the cluster runs Kubernetes {0}, but loadgen needs 1.33 or later")]
    #[diagnostic(
        code(old_cluster),
        help(
            "start the workers by hand there: see \"Run workers in containers\" in docs/how-to/use-many-hosts.md"
        )
    )]
    TooOld(String),
    /// Not all pods run in time.
    #[error("{running} of {of} pods run after {}: {why}", humantime::format_duration(*limit))]
    #[diagnostic(
        code(pods_not_started),
        help("make room or correct what the cluster names, or wait longer: --start-timeout TIME")
    )]
    NotStarted {
        /// Number of pods that run.
        running: usize,
        /// Number of pods.
        of: usize,
        /// Time for which they were awaited.
        limit: Duration,
        /// The cluster's words about the other pods.
        why: String,
    },
    /// Not all servers under test are ready in time.
    #[error("{ready} of {of} pods of servers are ready after {}: {why}", humantime::format_duration(*limit))]
    #[diagnostic(
        code(servers_not_started),
        help(
            "correct the target: its `image`, `command`, `port` (8000 if left out), `ready` and `start_timeout`; or make \
             room for its pods"
        )
    )]
    ServersNotStarted {
        /// Number of pods that are ready.
        ready: usize,
        /// Number of pods.
        of: usize,
        /// Time for which they were awaited.
        limit: Duration,
        /// The cluster's words about one that is not.
        why: String,
    },
    /// The manager's pod ended without a result.
    #[error("the pod of the manager is gone: {0}")]
    #[diagnostic(
        code(manager_pod_gone),
        help(
            "see what the cluster did with it: more memory (--requests, --limits), or another node, may help"
        )
    )]
    ManagerGone(String),
    /// The result could not be saved in its folder.
    #[error("cannot save the result of the run in {0}")]
    #[diagnostic(
        code(unwritable_folder),
        help("free disk space, or choose another folder with --out DIR")
    )]
    Unsaved(String),
    /// The result could not be saved anywhere, and is still in the cluster.
    #[error("cannot save the result of the run in {why}")]
    #[diagnostic(
        code(result_waits),
        help("free disk space, and take the result within an hour: `{again} --out DIR`")
    )]
    Unfetched {
        /// Command that takes the run up again.
        again: String,
        /// Where it was to be saved, and why it was not.
        why: String,
    },
}

impl KubernetesError {
    /// Returns whether the servers under test are the reason.
    pub fn is_of_servers(&self) -> bool {
        matches!(self, Self::ServersNotStarted { .. })
    }

    /// Returns whether the run must stay in the cluster: there is something to take, or to read.
    pub(super) fn leaves_the_run(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Unfetched { .. } | Self::ResultGone { .. })
    }
}
