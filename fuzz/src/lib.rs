//! What all programs of the fuzzer share.

/// A program that gives arbitrary bytes to the target of this name.
#[macro_export]
macro_rules! program {
    ($name:literal) => {
        // A request for more than this ends the program: no input here is worth half a gigabyte.
        #[global_allocator]
        static LIMITED: cap::Cap<std::alloc::System> = cap::Cap::new(std::alloc::System, 512 << 20);

        libfuzzer_sys::fuzz_target!(
            init: $crate::prepare($name),
            |bytes: &[u8]| {
                static RUN: std::sync::LazyLock<fn(&[u8])> =
                    std::sync::LazyLock::new(|| efmca_fuzz::target($name).expect("there is such a target").run);
                RUN(bytes);
            }
        );
    };
}

/// What a program does first: with `--longest` it prints the longest input that is worth its time, and nothing else.
pub fn prepare(name: &str) {
    if std::env::args().any(|argument| argument == "--longest") {
        println!("{}", efmca_fuzz::target(name).expect("there is such a target").longest);
        std::process::exit(0);
    }
    keep_caught_panics();
}

/// libFuzzer takes every panic for a crash. Those of the `parquet` crate are caught by `efmca-io` and become an error, so that
/// they are left to it.
fn keep_caught_panics() {
    let crash = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let within = panic.location().is_some_and(|place| place.file().contains("/parquet-"));
        if !within {
            crash(panic);
        }
    }));
}
