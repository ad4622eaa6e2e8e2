//! The process itself, under the names that collectors know. Linux tells it in `/proc`; where that is not to be had, it is left out.

use super::text::Text;
use std::fs;

/// Ticks a second in `/proc`: a constant of Linux's interface (`USER_HZ`), whatever the kernel itself counts in.
const TICKS_PER_S: f64 = 100.0;

pub(super) fn write(text: &mut Text) {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let stat = read("/proc/self/stat");
    if let Some(since_boot_s) = start_s(&stat)
        && let Some(boot_s) = boot_s(&read("/proc/stat"))
    {
        text.gauge("process_start_time_seconds", "When the program started, in seconds since 1970.")
            .put(&[], boot_s + since_boot_s);
    }
    if let Some(cpu_s) = cpu_s(&stat) {
        text.counter("process_cpu_seconds_total", "Time of processors used, the system's included.").put(&[], cpu_s);
    }
    if let Some(bytes) = resident_bytes(&read("/proc/self/status")) {
        text.gauge("process_resident_memory_bytes", "Memory that is really held.").count(&[], bytes);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        text.gauge("process_open_fds", "Files and sockets open.").count(&[], files.count() as u64);
    }
}

/// A field of `/proc/self/stat`, counted from 1 as in proc(5). The second is the program's name in brackets, which may hold
/// blanks and brackets itself.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn start_s(stat: &str) -> Option<f64> {
    Some(field(stat, 22)? / TICKS_PER_S)
}

fn cpu_s(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS_PER_S)
}

fn boot_s(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn resident_bytes(status: &str) -> Option<u64> {
    let rest = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_tells_is_read_and_what_it_does_not_is_left_out() {
        let stat = "77 (a b) (c)) S 1 77 77 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 9 0 123456 1000 200 1";
        assert_eq!(start_s(stat), Some(1234.56));
        assert_eq!(cpu_s(stat), Some(2.0));
        assert_eq!(boot_s("cpu 1 2 3\nbtime 1700000000\nprocesses 9\n"), Some(1_700_000_000.0));
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t    2048 kB\n"), Some(2 * 1024 * 1024));
        for odd in ["", ")", "1 (x) S", "VmRSS: kB", "VmRSS: -1 kB", "btime x"] {
            assert_eq!((start_s(odd), boot_s(odd), resident_bytes(odd)), (None, None, None), "{odd}");
        }
    }
}
