//! How much memory there is, before it is used: a program that asks for more is ended by the system.

use crate::failure::Failure;

/// Bytes that this program can still get, as far as the system says: what is free, what a limit on the program leaves
/// (`ulimit -v`), and what its group of programs may have (a container, or a job of a cluster).
pub(crate) fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let free = read("/proc/meminfo").and_then(|text| kilobytes(&text, "MemAvailable:"));
    let used = read("/proc/self/status").and_then(|text| kilobytes(&text, "VmSize:")).unwrap_or(0);
    let limit = read("/proc/self/limits").and_then(|text| address_space(&text));
    let number = |path: &str| read(path).and_then(|text| text.trim().parse::<u64>().ok());
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    [free, limit.map(|limit| limit.saturating_sub(used)), group].into_iter().flatten().min()
}

/// The number of a line such as `MemAvailable:   123 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The limit on memory of a program, if it has one.
fn address_space(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The bytes that one file may take: `usual`, or half of the memory there is. The other half is for the work.
pub(crate) fn for_a_file(usual: u64) -> u64 {
    available().map_or(usual, |bytes| usual.min(bytes / 2))
}

/// Refuses work that needs more memory than there is.
pub(crate) fn check(needed: u64, what: &str, remedy: &str) -> Result<(), Failure> {
    check_against(needed, available(), what, remedy)
}

fn check_against(needed: u64, available: Option<u64>, what: &str, remedy: &str) -> Result<(), Failure> {
    match available {
        Some(bytes) if needed > bytes => Err(Failure::input(format!(
            "{what} needs about {} MB of memory, and there are {} MB; {remedy}",
            needed.div_ceil(1_000_000),
            bytes / 1_000_000
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_understood() {
        assert_eq!(kilobytes("MemFree: 3 kB\nMemAvailable:    2 kB\n", "MemAvailable:"), Some(2048));
        assert_eq!(kilobytes("MemFree: 3 kB\n", "MemAvailable:"), None);
        let limits = "Max cpu time  unlimited unlimited seconds\nMax address space         1000 unlimited bytes\n";
        assert_eq!(address_space(limits), Some(1000));
        assert_eq!(address_space("Max address space         unlimited unlimited bytes\n"), None);
        if cfg!(target_os = "linux") {
            assert!(available().unwrap() > 1 << 20);
        }
    }

    #[test]
    fn too_much_is_refused_with_both_numbers() {
        let refused = check_against(3_000_000_000, Some(2_500_000_000), "this", "use less").unwrap_err().to_string();
        assert_eq!(refused, "this needs about 3000 MB of memory, and there are 2500 MB; use less");
        assert!(check_against(3, Some(3), "this", "use less").is_ok() && check_against(3, None, "this", "").is_ok());
    }
}
