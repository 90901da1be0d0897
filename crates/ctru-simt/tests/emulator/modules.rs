//! Tests of modules: their text, and the shared memory of the GPUs for which it is.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use ctru_simt::descriptor::{Kernel, Shape};
use ctru_simt::ptx::Module;

/// Returns whether a block may have this much shared memory.
fn accepts(text: &'static str, kib: u32) -> bool {
    let module: &'static Module = Box::leak(Box::new(Module::new(text)));
    let described = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: nobody launches the kernel.
        unsafe { Kernel::new(module, "kernel", Shape::new(32, 1, 1024 * kib), &[]) }
    }));
    described.is_ok()
}

#[test]
fn the_target_says_how_much_shared_memory_there_is() {
    for (text, most) in [
        ("// sm_75\n.version 7.0\n.target sm_80\n.address_size 64\n", 163),
        (".version 7.1\n.target sm_86", 99),
        ("..target sm_90a, debug\n", 227),
        (".target sm_8", 227),
        (".target sm_99999999999", 227),
        ("", 227),
        (".target", 227),
        (".version 7.0\n.target ", 227),
    ] {
        assert!(accepts(text, most) && !accepts(text, most + 1), "{text}");
    }
}

#[test]
fn a_compressed_text_is_unpacked() {
    // A stream of one block, which holds seven bytes as they are.
    static MODULE: Module =
        Module::with_deflated(".target sm_80\n", b"\x01\x07\x00\xf8\xff.entry\n");
    assert_eq!(MODULE.text(), ".target sm_80\n.entry\n");
    assert_eq!(Module::new("all").text(), "all");
}
