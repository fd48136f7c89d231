//! How much memory there is, as far as the system says.

/// Bytes that this program can still get, as far as the system says: what is free, what a limit on the program leaves
/// (`ulimit -v`), and what its group of programs may have (a container, or a job of a cluster). Nothing where the system does not say.
///
/// ```
/// if let Some(bytes) = efmca_io::available_memory() {
///     assert!(bytes > 1 << 20);
/// }
/// ```
pub fn available_memory() -> Option<u64> {
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
        assert!(!cfg!(target_os = "linux") || available_memory().is_some());
    }
}
