//! How much memory there is, before it is used: a program that asks for more is ended by the system.

use efmca_io::available_memory;

use crate::failure::Failure;

/// The bytes that one file may take: `usual`, or half of the memory there is. The other half is for the work.
pub(crate) fn for_a_file(usual: u64) -> u64 {
    available_memory().map_or(usual, |bytes| usual.min(bytes / 2))
}

/// Bytes that every command needs, whatever it does.
const LEAST: u64 = 24_000_000;

/// Refuses all work where not even the program has room.
pub(crate) fn for_the_program() -> Result<(), Failure> {
    check(LEAST, "the program itself", "close other programs, or raise the limit (ulimit -v)")
}

/// Refuses work that needs more memory than there is.
pub(crate) fn check(needed: u64, what: &str, remedy: &str) -> Result<(), Failure> {
    check_against(needed, available_memory(), what, remedy)
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
    fn too_much_is_refused_with_both_numbers() {
        let refused = check_against(3_000_000_000, Some(2_500_000_000), "this", "use less").unwrap_err().to_string();
        assert_eq!(refused, "this needs about 3000 MB of memory, and there are 2500 MB; use less");
        assert!(check_against(3, Some(3), "this", "use less").is_ok() && check_against(3, None, "this", "").is_ok());
    }
}
