//! Finds the Unix domain sockets at which processes of this machine listen.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Flag of a socket that accepts connections, in `/proc/net/unix` (proc_net_unix(5)).
const ACCEPTS: u32 = 1 << 16;

/// Returns the inodes of the sockets that accept connections at this path. `owners` has the processes of each socket,
/// by its inode.
pub(super) fn listening_at(path: &Path, owners: &BTreeMap<String, Vec<u32>>) -> Vec<String> {
    // Any user of the machine may have bound a name that is no UTF-8.
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let socket = real(path);
    // The table has each path as the program wrote it, which may begin at the program's folder.
    let is_it = |(inode, bound): &(&str, &Path)| {
        let begins = |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let folders = || owners.get(*inode).into_iter().flatten().map(begins);
        bound.file_name() == socket.file_name()
            && (bound.is_absolute() && real(bound) == socket
                || folders().any(|folder| real(&folder.join(bound)) == socket))
    };
    bound(&table).filter(is_it).map(|(inode, _)| inode.to_owned()).collect()
}

/// Returns inode and path of the Unix domain sockets in a table like `/proc/net/unix` that accept connections.
fn bound(table: &str) -> impl Iterator<Item = (&str, &Path)> {
    table.lines().skip(1).filter_map(|line| {
        // Number, references, protocol, flags, type, state, inode; and the path, which may have spaces.
        let mut rest = line;
        let mut field = || {
            let (field, after) = rest.trim_start().split_once(' ')?;
            rest = after;
            Some(field)
        };
        let fields: Vec<&str> = (0..7).map_while(|_| field()).collect();
        let [_, _, _, flags, _, _, inode] = fields[..] else { return None };
        let accepts = u32::from_str_radix(flags, 16).ok()? & ACCEPTS != 0;
        accepts.then_some((inode, Path::new(rest)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_may_have_spaces_and_only_listeners_count() {
        let table = "Num RefCount Protocol Flags Type St Inode Path\n\
            0000000006413ad8: 00000002 00000000 00010000 0001 01  7 a b.sock\n\
            0000000006413ad9: 00000003 00000000 00000000 0001 03  8 a b.sock\n\
            0000000006413ada: 00000002 00000000 00010000 0001 01  9\n";
        assert_eq!(bound(table).collect::<Vec<_>>(), [("7", Path::new("a b.sock"))]);
    }
}
