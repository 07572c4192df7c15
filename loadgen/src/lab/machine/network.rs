//! Measures how full the machine's network links are, by Linux's own counters and the speed that a
//! network interface has negotiated. Loopback has no speed: only the CPUs limit the traffic. On
//! systems other than Linux no link is known.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::measure::LinkRecord;

/// Counters of each network interface with a known speed, by name of the interface.
pub(super) type Links = BTreeMap<String, Carried>;

/// Numbers of bytes that a network interface has carried so far, and the interface's speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Carried {
    received_bytes: u64,
    sent_bytes: u64,
    megabits_per_s: u64,
}

/// Reads the current counters of all network interfaces from `/sys/class/net`
/// (Documentation/ABI/testing/sysfs-class-net of Linux).
pub(super) fn links() -> Links {
    let Ok(interfaces) = fs::read_dir("/sys/class/net") else { return Links::new() };
    let named = interfaces.flatten().filter_map(|interface| {
        let name = interface.file_name().into_string().ok()?;
        Some((name, carried(&interface.path())?))
    });
    named.collect()
}

/// Reads the counters of a network interface. Returns `None` for an interface that is down, or that
/// reports no speed or, as virtual interfaces do, −1.
fn carried(interface: &Path) -> Option<Carried> {
    let number = |file: &str| fs::read_to_string(interface.join(file)).ok()?.trim().parse().ok();
    Some(Carried {
        megabits_per_s: number("speed").filter(|speed| *speed > 0)?,
        received_bytes: number("statistics/rx_bytes")?,
        sent_bytes: number("statistics/tx_bytes")?,
    })
}

/// Returns the network interface that used the largest share of its speed between two readings of
/// the counters, `elapsed` apart; `None` if no speed is known.
pub(super) fn fullest(earlier: &Links, now: &Links, elapsed: Duration) -> Option<LinkRecord> {
    let busy = |(name, now): (&String, &Carried)| {
        let earlier = earlier.get(name)?;
        let bytes = u64::max(
            now.received_bytes.saturating_sub(earlier.received_bytes),
            now.sent_bytes.saturating_sub(earlier.sent_bytes),
        );
        let can = now.megabits_per_s as f64 * 1e6 / 8.0 * elapsed.as_secs_f64();
        let busy_percent = 100.0 * bytes as f64 / can.max(1.0);
        Some(LinkRecord { name: name.clone(), busy_percent })
    };
    now.iter().filter_map(busy).max_by(|a, b| a.busy_percent.total_cmp(&b.busy_percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(received_bytes: u64, sent_bytes: u64) -> Links {
        let carried = Carried { received_bytes, sent_bytes, megabits_per_s: 100 };
        Links::from([("eth0".to_owned(), carried)])
    }

    #[test]
    fn the_fuller_direction_counts() {
        let second = Duration::from_secs(1);
        let found = fullest(&link(1_000, 5_000), &link(2_000, 12_505_000), second).unwrap();
        assert_eq!((found.name.as_str(), found.busy_percent), ("eth0", 100.0));
        let slower = fullest(&link(0, 0), &link(12_500_000, 0), 4 * second).unwrap();
        assert_eq!(slower.busy_percent, 25.0);
        assert_eq!(fullest(&Links::new(), &link(1, 1), second), None, "it has just come");
    }

    #[test]
    fn an_interface_is_read_from_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        assert_eq!(carried(folder.path()), None);
        fs::create_dir(folder.path().join("statistics")).unwrap();
        write("statistics/rx_bytes", "7\n");
        write("statistics/tx_bytes", "12\n");
        write("speed", "-1\n");
        assert_eq!(carried(folder.path()), None, "a virtual one");
        write("speed", "1000\n");
        let all = Carried { received_bytes: 7, sent_bytes: 12, megabits_per_s: 1_000 };
        assert_eq!(carried(folder.path()), Some(all));
    }
}
