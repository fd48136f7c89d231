//! Files and lines of progress.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use efmca_io::write_atomically;

/// What an experiment returns.
pub(crate) type Done<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A line on standard error; a closed pipe is nobody's problem.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Writes `bytes` to `name` in the folder `out`, and says so.
pub(crate) fn write(out: &Path, name: &str, bytes: &[u8]) -> Done<()> {
    let path = out.join(name);
    write_atomically(&path, bytes)?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}
