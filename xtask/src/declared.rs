//! What kernels may do with which arrays: exceptions for those of the laboratory, which never
//! process real secrets, and one for the KEM.
//!
//! The KEM's kernels have one exception: Streamlined NTRU Prime draws `g` again until it has an
//! inverse modulo 3, and how often it does so is public. The content of all other arrays is secret,
//! and the kernels may leak nothing.

use std::time::Instant;

use ptx_check::flow::analysis::{Finding, Secrets, analyse, paragraphs};
use ptx_check::flow::program::{self, Class, NotUnderstood, Objects, Program};
use ptx_check::flow::ptx::decode_kernel;
use ptx_check::plant;

use crate::ptx::{divides, is_check, parse};
use crate::{Error, Result};

/// Returns the arrays of a kernel whose content is public.
#[must_use]
pub fn public_arrays(kernel: &str) -> Objects {
    if kernel.starts_with("layer_") {
        // The number of the layer of the transform.
        Objects::array(1)
    } else if kernel.starts_with("ntruprime_draw_again_") {
        // Which elements have no inverse, which tells nothing about those that are drawn again.
        Objects::array(5)
    } else {
        Objects::NONE
    }
}

/// Analyses kernels and compares the findings with the declared exceptions. Returns the counts as a
/// sentence.
///
/// A kernel that the decoder refuses is a fault, unless the kernel measures divisions: its machine
/// code calls a function to divide, which the decoder does not know. Kernels that check methods on
/// every input are left out.
///
/// # Errors
/// [`Error::Faults`] with all faults that no exception allows.
pub fn check(programs: Vec<Result<Program, NotUnderstood>>) -> Result<String> {
    let (mut kernels, mut dividing, mut instructions, mut secret_stores) = (0, 0, 0, 0);
    let mut faults = Vec::new();
    for program in programs {
        let name = program::name(&program).to_owned();
        if is_check(&name) {
            continue;
        }
        let divides = divides(&name);
        let program = match program {
            Ok(program) => program,
            Err(_) if divides => {
                kernels += 1;
                dividing += 1;
                continue;
            }
            Err(refused) => {
                faults.push(refused.to_string());
                continue;
            }
        };
        let report = analyse(&program, Secrets::AllBut(public_arrays(&name)));
        kernels += 1;
        instructions += report.instructions;
        secret_stores += report.secret_stores;
        let is_declared =
            |finding: &Finding| divides && matches!(finding.class, Class::Division | Class::Branch);
        let (declared, others): (Vec<_>, Vec<_>) =
            report.findings.into_iter().partition(is_declared);
        faults.extend(paragraphs(others));
        if declared.iter().any(|finding| finding.class == Class::Division) {
            dividing += 1;
        } else if divides {
            faults.push(format!("{name}: no division of secrets found"));
        }
    }
    if kernels == 0 {
        faults.push("there is no kernel to check".to_owned());
    }
    Error::unless_none("kernels leak secrets, or contain unknown instructions", faults)?;
    let except = match dividing {
        0 => String::new(),
        count => format!(" except in {count} kernels that measure divisions"),
    };
    Ok(format!(
        "{kernels} kernels, {instructions} instructions, {secret_stores} stores of secrets; no \
         leak{except}"
    ))
}

/// Checks the kernels of a PTX text whose names contain `kernel`. Returns the counts as a sentence.
///
/// # Errors
/// [`Error::Faults`] with all findings, or [`Error::Program`] for a text that is no PTX.
pub fn check_ptx(text: &str, kernel: &str) -> Result<String> {
    let start = Instant::now();
    let module = parse(text)?;
    let kernels = module.kernels().filter(|known| known.name.contains(kernel));
    let programs = kernels.map(|kernel| decode_kernel(&module, kernel)).collect();
    let verdict = check(programs)?;
    Ok(format!("{verdict} ({:.1} s)", start.elapsed().as_secs_f64()))
}

/// Returns whether leaks are planted in a kernel: not if it has exceptions, because then not every
/// array is secret, or the kernel divides secrets anyway.
#[must_use]
pub fn is_strict(kernel: &str) -> bool {
    !divides(kernel) && !is_check(kernel) && public_arrays(kernel).is_empty()
}

/// Prints how many planted leaks were found.
///
/// # Errors
/// [`Error::Faults`] if a leak was missed, if no leak was planted, or none of a kind in `kinds`.
pub fn judge(planted: plant::Outcome, seed: u64, kinds: &[plant::Kind]) -> Result<()> {
    println!("leaks planted with seed {seed}:\n{planted}");
    let mut missed = planted.missed;
    if planted.counts.is_empty() {
        missed.push("no kernel has a place for a leak".to_owned());
    }
    let without = kinds.iter().filter(|kind| !planted.counts.contains_key(kind));
    missed.extend(without.map(|kind| format!("no kernel has a place for {kind:?}")));
    Error::unless_none("the analysis did not find all planted leaks", missed)
}
