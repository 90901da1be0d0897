//! What is declared of kernels of the laboratory, which nobody's secrets ever reach.
//!
//! Of the KEM's kernels nothing is declared: everything that they read is secret, and they may show
//! none of it.

use super::analysis::{Finding, Report, analyse};
use super::program::{Class, Objects, Program};
use super::ptx::{NotUnderstood, decode};
use crate::ptx::divides;
use crate::{Error, Result};
use std::time::Instant;

/// Returns the arrays of a kernel whose content is public.
#[must_use]
pub fn public_arrays(kernel: &str) -> Objects {
    // The number of the layer of the transform.
    if kernel.starts_with("layer_") { Objects::array(1) } else { Objects::NONE }
}

/// What a check of several kernels says.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Kernels that were looked at.
    pub kernels: usize,
    /// Kernels that divide secrets and are declared to.
    pub dividing: usize,
    /// Instructions that can be executed.
    pub instructions: usize,
    /// Stores of secrets to arrays.
    pub secret_stores: usize,
    /// Everything that is not as declared, a paragraph each.
    pub faults: Vec<String>,
}

impl Outcome {
    /// Returns what was looked at, in words.
    ///
    /// # Errors
    /// [`Error::Leaks`] with all faults.
    pub fn verdict(self) -> Result<String> {
        let Self { kernels, dividing, instructions, secret_stores, mut faults } = self;
        if kernels == 0 {
            faults.push("there is no kernel to look at".to_owned());
        }
        if !faults.is_empty() {
            return Err(Error::Leaks { faults });
        }
        let except = match dividing {
            0 => String::new(),
            count => format!(" except by {count} kernels that measure divisions"),
        };
        Ok(format!(
            "{kernels} kernels, {instructions} instructions, {secret_stores} stores of secrets; \
             no secret is shown{except}"
        ))
    }
}

/// Analyses kernels and compares what is found with what is declared of them. A kernel that is not
/// understood is a fault, unless it is there to divide: machine code calls a function for that.
#[must_use]
pub fn check(programs: Vec<Result<Program, NotUnderstood>>) -> Outcome {
    let mut outcome = Outcome::default();
    for program in programs {
        let program = match program {
            Ok(program) => program,
            Err(refused) if divides(&refused.kernel) => {
                outcome.kernels += 1;
                outcome.dividing += 1;
                continue;
            }
            Err(refused) => {
                outcome.faults.push(refused.to_string());
                continue;
            }
        };
        let Report { findings, instructions, secret_stores, .. } =
            analyse(&program, public_arrays(&program.name));
        outcome.kernels += 1;
        outcome.instructions += instructions;
        outcome.secret_stores += secret_stores;
        let is_declared = |finding: &Finding| {
            divides(&program.name) && matches!(finding.class, Class::Division | Class::Branch)
        };
        let (declared, others): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_declared);
        outcome.faults.extend(grouped(others));
        match divides(&program.name) {
            true if declared.iter().any(|finding| finding.class == Class::Division) => {
                outcome.dividing += 1;
            }
            true => outcome.faults.push(format!("{}: no division of secrets found", program.name)),
            false => {}
        }
    }
    outcome
}

/// Checks the kernels of a text whose names contain `kernel`. Returns what was looked at, in words.
///
/// # Errors
/// [`Error::Leaks`] with all that was found.
pub fn check_ptx(text: &str, kernel: &str) -> Result<String> {
    let start = Instant::now();
    let refused = |error: NotUnderstood| Error::Leaks { faults: vec![error.to_string()] };
    let mut programs = decode(text).map_err(refused)?;
    programs.retain(|program| program.name.contains(kernel));
    let verdict = check(programs.into_iter().map(Ok).collect()).verdict()?;
    Ok(format!("{verdict} ({:.1} s)", start.elapsed().as_secs_f64()))
}

/// Returns findings as paragraphs. Of those in one kernel that are alike, only the first is told.
fn grouped(findings: Vec<Finding>) -> impl Iterator<Item = String> {
    let mut groups: Vec<(Finding, usize)> = Vec::new();
    for finding in findings {
        let alike = |(known, _): &&mut (Finding, usize)| {
            (known.class, &known.source) == (finding.class, &finding.source)
        };
        match groups.iter_mut().find(alike) {
            Some((_, more)) => *more += 1,
            None => groups.push((finding, 0)),
        }
    }
    groups.into_iter().map(|(finding, more)| match more {
        0 => finding.to_string(),
        more => format!("{finding}\n      and {more} more like this in the kernel"),
    })
}
