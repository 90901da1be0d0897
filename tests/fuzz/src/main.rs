//! Calls everything that reads bytes from outside with inputs of libFuzzer. A panic, or the end of
//! the program, is a finding.
//!
//! `FUZZ_TARGET` names the target, and `FUZZ_INPUTS` a folder, to which the program writes its
//! examples. The arguments are those of libFuzzer. `.ci/fuzz` builds the program with counters and
//! calls it.
#![no_main]

mod targets;

use std::path::Path;
use std::sync::LazyLock;
use std::{env, fs};

use libfuzzer_sys::fuzz_target;

use targets::Target;

/// The chosen target.
static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = env::var("FUZZ_TARGET").expect("FUZZ_TARGET");
    let target = targets::ALL.iter().chain([&targets::PLANTED]).find(|target| target.name == name);
    target.unwrap_or_else(|| panic!("no target {name}"))
});

fn write_examples() {
    let folder = env::var("FUZZ_INPUTS").expect("FUZZ_INPUTS");
    for (number, example) in (TARGET.begin)().into_iter().enumerate() {
        fs::write(Path::new(&folder).join(format!("example-{number}")), example)
            .expect("a folder for inputs");
    }
}

fuzz_target!(init: write_examples(), |input: &[u8]| (TARGET.run)(input));
