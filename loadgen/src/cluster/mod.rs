//! temp
use crate::engine::{Plan, Share};
use crate::measure::{Series, Snapshot};
use tokio_util::sync::CancellationToken;
pub struct Cluster;
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("none")]
pub struct ClusterError;
pub struct WR {
    pub share: Share,
    pub held: std::time::Duration,
    pub series: Series,
    pub snapshots: u32,
}
pub struct Round {
    pub workers: Vec<WR>,
    pub lost: Option<String>,
}
impl Cluster {
    pub async fn start(_n: u32) -> Result<Self, ClusterError> {
        Err(ClusterError)
    }
    pub async fn round(
        &mut self,
        _p: Plan,
        _s: CancellationToken,
        _f: impl FnMut(u32, &Snapshot),
    ) -> Result<Round, ClusterError> {
        Err(ClusterError)
    }
    pub fn pids(&self) -> Vec<u32> {
        vec![]
    }
    pub async fn quit(self) {}
}
