#![no_main]
efmca_fuzz_programs::program!(ARGUMENTS);
