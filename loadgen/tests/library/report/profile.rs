//! Tests the reports of runs with profiling rounds, made from records built by hand.

use loadgen::record::{
    CostRecord, FunctionDifference, FunctionRecord, OccupancyRecord, PackageRecord, PoolRecord,
    ProfileDifference, ProfileRecord, RunRecord, WaitRecord,
};

use super::records::{record, target};
use super::run::{assert_within_80_columns, shown};
use super::shown::{html, markdown};

const FUNCTIONS: [(&str, &str, f64, f64); 6] = [
    ("JSONEncoder.iterencode", "json/encoder.py", 191.0, 191.0),
    ("RequestResponseCycle.send", "uvicorn/protocols/http/httptools_impl.py", 66.2, 67.3),
    ("Runner.run", "asyncio/runners.py", 18.5, 338.0),
    ("<module>", "", 5.6, 338.0),
    ("Route.matches", "starlette/routing.py", 5.5, 5.9),
    ("one_too_many", "shop.py", 0.4, 0.4),
];

/// Returns the record of a run over two commits and a target that is not Python.
fn profiled() -> RunRecord {
    let names = ["shop@main", "shop@HEAD", "gateway"];
    let mut targets: Vec<_> = names.map(|name| target(name, &[2_900.0; 5])).into();
    let cost =
        |us: f64| CostRecord { us_per_request: us, confidence_95: Some([us * 0.9, us * 1.1]) };
    let function = |(function, file, own, with_calls): (&str, &str, f64, f64)| FunctionRecord {
        function: function.to_owned(),
        file: file.to_owned(),
        own: cost(own),
        with_calls: cost(with_calls),
    };
    for target in &mut targets[..2] {
        target.profile = Some(ProfileRecord {
            rounds: 8,
            samples: 4_800,
            cpu_us_per_request: 338.0,
            functions: FUNCTIONS.into_iter().map(function).collect(),
            packages: vec![PackageRecord { package: "json".to_owned(), own: cost(191.0) }],
            occupancy: occupancy(),
            file: format!("profile-{}", target.name),
            ..ProfileRecord::default()
        });
    }
    let failure = Some("none of its processes can be read as Python: no Python".to_owned());
    targets[2].profile = Some(ProfileRecord { failure, ..ProfileRecord::default() });
    let mut record = record(targets);
    record.profile_differences = vec![ProfileDifference {
        targets: [names[0], names[1]].map(str::to_owned),
        us_per_request: 21.7,
        confidence_95: [19.5, 23.8],
        functions: vec![FunctionDifference {
            function: "JSONEncoder.iterencode".to_owned(),
            file: "json/encoder.py".to_owned(),
            us_per_request: 23.1,
            confidence_95: [14.4, 31.8],
            shown: true,
        }],
        file: "profile-difference-shop@main-shop@HEAD".to_owned(),
    }];
    record
}

/// Returns a process whose pool of ten threads waits for Redis.
fn occupancy() -> OccupancyRecord {
    let recv = || WaitRecord {
        function: "SocketBuffer._read_from_socket".to_owned(),
        file: "redis/_parsers/socket.py".to_owned(),
        threads: 8.6,
    };
    let pool = PoolRecord {
        file: "concurrent/futures/thread.py".to_owned(),
        threads: 10.0,
        idle: 0.1,
        running: 1.3,
        waits_most_in: Some(recv()),
    };
    OccupancyRecord {
        processes: 1.0,
        gil_held_percent: Some(71.2),
        threads_on_cpu: 0.8,
        threads_for_cpu: 0.0,
        threads_for_gil: 0.5,
        waits: vec![recv()],
        pools: vec![pool],
    }
}

#[test]
fn functions_are_in_the_table_and_in_the_answer() {
    let report = shown(&profiled());
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

#[test]
fn each_report_has_the_profile() {
    let record = profiled();
    for report in [markdown(&record).replace("\\_", "_"), html(&record)] {
        for said in [
            "RequestResponseCycle.send (uvicorn/protocols/http/httptools_impl.py)",
            "+23.1 µs (+14.4 to +31.8) in JSONEncoder.iterencode (json/encoder.py)",
            "all 10 threads of the pool (concurrent/futures/thread.py) have work",
            "gateway was not profiled: none of its processes",
        ] {
            assert!(report.contains(said), "{said}: {report}");
        }
    }
    let page = html(&record);
    assert!(page.contains("href=\"profile-shop@HEAD.svg\""), "{page}");
    assert!(page.contains("href=\"profile-difference-shop@main-shop@HEAD.svg\""), "{page}");
    assert!(page.contains("one_too_many") && !markdown(&record).contains("one_too_many"));
}
