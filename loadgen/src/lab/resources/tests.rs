use super::*;
use crate::measure::ResourceSamples;

#[test]
fn a_window_counts_the_usage_within_it() {
    let window = Window::open(vec![Watched::process("self", std::process::id())]).unwrap();
    let began = Instant::now();
    let mut sum = 0_u64;
    while began.elapsed() < Duration::from_millis(300) {
        sum = sum.wrapping_mul(31).wrapping_add(7);
    }
    std::hint::black_box(sum);
    let observed = window.close();
    let usage = &observed.services["self"];
    assert!(usage.cpu_s > 0.02, "{usage:?}");
    assert_eq!(usage.processes_percent, [usage.cpu_percent]);
    assert!(
        usage.memory_max_bytes >= usage.memory_mean_bytes && usage.memory_mean_bytes > 0,
        "{usage:?}"
    );
    if cfg!(target_os = "linux") {
        // This thread wanted a CPU all the time, although it may not always have had one.
        assert!(usage.busiest_thread_percent.unwrap() > 80.0, "{usage:?}");
        assert!(usage.context_switches_per_s.unwrap() > 0.0, "{usage:?}");
        assert!(usage.open_files_max.unwrap() > 2, "{usage:?}");
        assert!(observed.machine.busy_percent.values().any(|busy| *busy > 0.0), "{observed:?}");
    }
}

/// The look at all processes that comes before the first sample takes long on a machine with many.
#[test]
#[cfg(target_os = "linux")]
fn a_slow_first_sample_lowers_no_share_and_no_cpu_time_per_request() {
    let mut window = Window::open(vec![Watched::process("self", std::process::id())]).unwrap();
    window.began -= Duration::from_millis(700);
    let began = Instant::now();
    let mut sum = 0_u64;
    while began.elapsed() < Duration::from_millis(300) {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
    }
    let observed = window.close();
    let usage = &observed.services["self"];
    assert!(usage.busiest_thread_percent.unwrap() > 80.0, "{usage:?}");
    let seconds = usage.cpu_s / usage.cpu_percent * 100.0;
    assert!(seconds >= 1.0, "the CPU time is that of the whole window: {seconds}");
}

#[test]
fn processes_are_listed_from_the_busiest() {
    let script = "(while :; do :; done) & spin=$!; sleep 5 & sleep 1; kill $spin $!; wait";
    let mut shell = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let window = Window::open(vec![Watched::below("tree", shell.id())]).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let usage = window.close().services.remove("tree").unwrap();
    shell.wait().unwrap();
    let [busy, .., idle] = usage.processes_percent[..] else { panic!("{usage:?}") };
    assert!(busy > idle, "{usage:?}");
}

#[test]
fn a_tree_counts_ended_processes_but_not_its_root() {
    let script = "(while :; do :; done) & spin=$!; sleep 1.5; kill $spin; wait; sleep 5";
    let mut shell = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
    let window = Window::open(vec![Watched::below("tree", shell.id())]).unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let usage = window.close().services.remove("tree").unwrap();
    shell.kill().unwrap();
    shell.wait().unwrap();
    assert!(usage.cpu_s > 0.1, "{usage:?}");
    assert!(usage.memory_max_bytes > 0, "{usage:?}");
    // Samples are at 0, 1, 2 and 2.5 s; the loop ran for the first 1.5 s.
    let ResourceSamples { at_s, cpu_percent, memory_bytes } = &usage.samples;
    assert_eq!((cpu_percent.len(), memory_bytes.len()), (at_s.len(), at_s.len()), "{usage:?}");
    assert!(at_s.len() >= 2 && at_s.is_sorted() && at_s[0] >= 1.0, "{usage:?}");
    assert!(cpu_percent[0] > *cpu_percent.last().unwrap(), "{usage:?}");
}

/// Processes that end between two samples count, by what their parent knows of them.
#[test]
#[cfg(target_os = "linux")]
fn a_tree_counts_processes_that_no_sample_saw() {
    let work = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done";
    let script = format!("sleep 0.2; for n in 1 2 3; do sh -c '{work}'; done; sleep 9");
    let mut shell = std::process::Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let window = Window::open(vec![Watched::below("tree", shell.id())]).unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let usage = window.close().services.remove("tree").unwrap();
    let ended = crate::lab::machine::cpu_time::of_ended_children_ns(shell.id()).unwrap();
    shell.kill().unwrap();
    shell.wait().unwrap();
    let ended = Duration::from_nanos(ended).as_secs_f64();
    // The shell's `sleep` that still runs has used next to nothing.
    assert!(ended > 0.02 && (usage.cpu_s - ended).abs() < 0.02, "{ended} {usage:?}");
}

#[test]
fn cpu_usage_is_reported_each_second_until_the_window_closes() {
    let (tell, told) = mpsc::channel();
    let tell: UsageTeller = Arc::new(move |usage| drop(tell.send(usage)));
    let me = Watched::process("self", std::process::id());
    let window = Window::telling(vec![me], Some(tell), Surroundings::default()).unwrap();
    let began = Instant::now();
    let mut sum = 0_u64;
    let first = loop {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        match told.try_recv() {
            Ok(first) => break first,
            Err(_) => assert!(began.elapsed() < Duration::from_secs(30), "nothing is told"),
        }
    };
    assert!(
        first["self"].cpu_percent > 0.0 && first["self"].memory_bytes > 0 && first.len() == 1,
        "{first:?}"
    );
    assert!(window.close().services["self"].cpu_s > 0.0);
    while told.recv_timeout(Duration::from_secs(30)) != Err(mpsc::RecvTimeoutError::Disconnected) {}
}
