//! Says which commits of a repository were measured.

use crate::analysis::{commits as sentences, same_commits};
use crate::record::{GitRecord, ServerRecord};

/// Returns a sentence for each ref that was measured, with its commit; none without refs, and none for a
/// ref that is the hash itself.
pub(crate) fn commits(servers: &[(&str, &ServerRecord)]) -> Vec<String> {
    let mut refs = refs(servers);
    refs.retain(|git| !git.commit.starts_with(&git.r#ref));
    sentences(&refs)
}

/// Returns a sentence for each two refs that stand for the same files.
pub(crate) fn noise(servers: &[(&str, &ServerRecord)]) -> Vec<String> {
    same_commits(&refs(servers))
}

fn refs<'a>(servers: &[(&str, &'a ServerRecord)]) -> Vec<&'a GitRecord> {
    servers.iter().filter_map(|(_, server)| server.git.as_ref()).collect()
}
