//! Sums the CPU time of functions up over their packages.

use std::collections::BTreeMap;

use super::{Shares, cost, parts};
use crate::record::PackageRecord;
use crate::statistics::Sample;

/// Least share of the samples with which a package is listed.
const LEAST: f64 = 0.01;

/// Returns the packages by their own CPU time per expected response, descending. `rounds` has the shares of the functions
/// of each profiling round.
pub(super) fn packages(rounds: &[BTreeMap<&str, Shares>], cpu: &Sample) -> Vec<PackageRecord> {
    let mut shares: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (number, round) in rounds.iter().enumerate() {
        for (label, of) in round {
            let (_, file) = parts(label);
            let each = shares.entry(package(file)).or_insert_with(|| vec![0.0; rounds.len()]);
            each[number] += of.own;
        }
    }
    let listed =
        shares.iter().filter(|(_, each)| each.iter().sum::<f64>() >= LEAST * rounds.len() as f64);
    let mut packages: Vec<PackageRecord> = listed
        .filter_map(|(package, each)| {
            Some(PackageRecord { package: (*package).to_owned(), own: cost(each, cpu)? })
        })
        .collect();
    packages.sort_by(|one, other| other.own.us_per_request.total_cmp(&one.own.us_per_request));
    packages
}

/// Returns the first part of a path, with the second one after the scope of a package of npm; `node` for what is in Node.js
/// itself; the folder of a file at an absolute path; or the name of a file without its extension. Nothing for code that was
/// in no file.
fn package(file: &str) -> &str {
    if file.starts_with("node:") {
        return "node";
    }
    if file.starts_with('/') {
        return file.rsplit('/').nth(1).unwrap_or_default();
    }
    let mut slashes = file.match_indices('/').map(|(at, _)| at);
    let end = slashes.nth(usize::from(file.starts_with('@')));
    match (end, file.rsplit_once('.')) {
        (Some(end), _) => &file[..end],
        (None, Some((name, _))) => name,
        (None, None) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_packages() {
        for (file, expected) in [
            ("json/encoder.py", "json"),
            ("app.py", "app"),
            ("node:internal/timers", "node"),
            ("@fastify/send/lib/send.js", "@fastify/send"),
            ("/opt/shop/server.js", "shop"),
            ("template", ""),
            ("", ""),
        ] {
            assert_eq!(package(file), expected, "{file}");
        }
    }

    #[test]
    fn functions_of_a_package_are_added_up() {
        let shares = |of: &[(&'static str, f64)]| -> BTreeMap<&str, Shares> {
            of.iter().map(|(label, own)| (*label, Shares { own: *own, with_calls: 1.0 })).collect()
        };
        let one = shares(&[
            ("encode (json/encoder.py)", 0.3),
            ("scan (json/scanner.py)", 0.3),
            ("f (app.py)", 0.4),
        ]);
        let other = shares(&[
            ("encode (json/encoder.py)", 0.5),
            ("f (app.py)", 0.49),
            ("render (template)", 0.01),
        ]);
        let found = packages(&[one, other], &Sample::of(&[200.0, 200.0]).unwrap());
        let of: Vec<_> =
            found.iter().map(|of| (of.package.as_str(), of.own.us_per_request.round())).collect();
        assert_eq!(
            of,
            [("json", 110.0), ("app", 89.0)],
            "a package with less than 1 % is left out"
        );
        assert!(found[0].own.confidence_95.is_some());
    }
}
