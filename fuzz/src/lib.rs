//! What all programs of the fuzzer share.

/// A program that gives arbitrary bytes to this target.
#[macro_export]
macro_rules! program {
    ($target:ident) => {
        // A request for more than this ends the program: no input here is worth half a gigabyte.
        #[global_allocator]
        static LIMITED: cap::Cap<std::alloc::System> = cap::Cap::new(std::alloc::System, 512 << 20);

        libfuzzer_sys::fuzz_target!(
            init: $crate::prepare(&efmca_fuzz::one::$target),
            |bytes: &[u8]| {
                (efmca_fuzz::one::$target.run)(bytes);
            }
        );
    };
}

/// What a program does first: with `--longest` it prints the longest input that is worth its time, and nothing else.
pub fn prepare(target: &efmca_fuzz::Target) {
    if std::env::args().any(|argument| argument == "--longest") {
        println!("{}", target.longest);
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
