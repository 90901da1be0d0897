//! Checks which engine the program takes, and which line it writes about the choice.

use super::{Sandbox, assert_contains, stderr};

#[test]
fn a_chosen_engine_is_taken_without_a_word() {
    let output = Sandbox::new().run("selftest --engine cpu");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
}

/// Checks that without a GPU, the reason is the error of `--engine gpu`.
#[test]
fn the_program_says_which_engine_it_takes_and_why() {
    let sandbox = Sandbox::new();
    for arguments in ["selftest", "selftest --engine auto"] {
        let output = sandbox.run(arguments);
        let said = stderr(&output);
        assert!(output.status.success() && said.lines().count() == 1, "{said}");
        let gpu = sandbox.run("selftest --engine gpu");
        if gpu.status.success() {
            assert_contains(&said, &["engine: gpu ("]);
        } else {
            let error = stderr(&gpu);
            let reason = error.lines().next().unwrap().strip_prefix("error: engine: ").unwrap();
            assert_eq!(said, format!("engine: cpu ({reason})\n"));
        }
    }
}

/// Checks that a plan is printed where there is no GPU.
#[cfg(feature = "cuda")]
#[test]
fn a_plan_needs_no_gpu() {
    let text = Sandbox::new().succeed("plan --set 761 --op encaps --batch 4096 --pageable");
    let said = ["4096 encapsulations with a key each", "chunks: 8 of 512", "keys staged"];
    assert_contains(&text, &said);
    // The program would divide by a number of slots that does not fit 64 bits.
    let output =
        Sandbox::new().run("plan --set 761 --op encaps --batch 4096 --gpus 1152921504606846976");
    assert_contains(&stderr(&output), &["invalid value '1152921504606846976'"]);
}
