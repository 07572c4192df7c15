//! A link between `kubectl` and the cluster, which can be cut.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::common::program::Project;

/// A link that is up.
pub struct Link {
    is_cut: Arc<watch::Sender<bool>>,
    connections: Arc<AtomicUsize>,
}

impl Link {
    /// Starts a link, and writes a `kubeconfig` into the project that leads through it.
    pub async fn start(project: &Project) -> Self {
        let text = fs::read_to_string(std::env::var("KUBECONFIG").unwrap()).unwrap();
        let (_, after) = text.split_once("https://").unwrap();
        let server = after.split_whitespace().next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().to_string();
        fs::write(project.path("kubeconfig"), text.replace(&server, &own)).unwrap();
        let is_cut = Arc::new(watch::Sender::new(false));
        let told = is_cut.clone();
        let connections = Arc::new(AtomicUsize::new(0));
        let up = connections.clone();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut cut = told.subscribe();
                if *cut.borrow() {
                    continue;
                }
                let (server, up) = (server.clone(), up.clone());
                tokio::spawn(async move {
                    up.fetch_add(1, Ordering::SeqCst);
                    let mut far = TcpStream::connect(&server).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        _ = cut.wait_for(|is_cut| *is_cut) => {}
                    }
                    up.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { is_cut, connections }
    }

    /// Returns the number of connections that are up.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Cuts all connections, and lets none through until [`Self::mend`].
    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Lets connections through again.
    pub fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}
