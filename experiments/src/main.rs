//! efmca.
fn main() {}
