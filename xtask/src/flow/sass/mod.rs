//! The decoder of machine code (SASS), as NVIDIA's disassembler prints it.
//!
//! Nobody but NVIDIA knows all of it, so the decoder refuses whatever is not listed here. What an
//! instruction reads and writes follows from its text, and the live ranges that the disassembler
//! prints beside it must name the same registers. So a mistake in either is a refusal. They may
//! differ in three places: jumps that look like calls, the predicates that `P2R` copies, and
//! descriptors of global accesses that the text does not name.
//!
//! # Rules
//!
//! - **Arithmetic** (`opcodes`) takes as long for all operands: integers, floating-point numbers of
//!   32 bits, conversions, moves, choices, comparisons. Its results depend on all its operands, bit
//!   by bit where `bits` knows better. Opcodes and modifiers that are not in the table are refused.
//! - **Predicates** guard instructions. The guard of an access to memory, a branch, an exit, a
//!   barrier, a shuffle or a matrix product must be public. One of arithmetic may be secret; the
//!   result is secret then. `predicates` says what one predicate tells about older ones.
//! - **Memory**: addresses must be public. `LDG` and `STG` access arrays and tables, `LDS` and
//!   `STS` shared memory, which is one object. Local memory, generic addresses, atomics and copies
//!   around registers are refused.
//! - **Constants**: bank 0 holds what the driver says of the launch, and from an offset that
//!   depends on the architecture the kernel's parameters; bank 2 constants of the assembler; bank 4
//!   addresses of tables. Other banks, and places behind the parameters, are refused. An index must
//!   be public.
//! - **Flow**: a branch jumps to a label of the kernel. With modifiers or further conditions
//!   (`BRA.U`, `BRA.DIV`) it may do either, and its guard tells nothing where it does not jump.
//!   `CALL.REL.NOINC` is a jump too, because `RET` is refused. `BSSY` and `BSYNC` go on behind
//!   themselves, which `convergence` checks. Indirect branches are refused. Behind the last exit
//!   there may be a jump to itself and `NOP`s, which are never executed.
//! - **Warps**: shuffles, votes, matrix products and `R2UR` read registers of other threads of the
//!   warp, about which a thread's predicates tell nothing. Uniform registers are of a warp; it is
//!   trusted that the assembler writes them only where the warp's threads agree.
//! - **Division** does not exist: compilers make it of `MUFU.RCP`, whose operand must be public.
//!   Multiplications, shifts and permutations of bytes are taken as constant-time, as on CPUs.
//! - **Special registers** of threads and blocks are public; all others, clocks say, are refused.
//! - An instruction with the guard `@!PT` is never executed.

mod bits;
mod convergence;
mod decode;
mod lines;
mod listing;
mod opcodes;
mod operand;
mod predicates;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::decode::Decoder;
use self::listing::{Function, functions};
use super::program::{Effect, Objects, Program};
use super::ptx::NotUnderstood;
use crate::IoContext;
use crate::tools::machine_code;

/// An entry point: where its parameters lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The kernel's name.
    pub name: String,
    /// The size of the parameters in bytes.
    pub bytes: usize,
    /// The arrays that parameters of 64 bits point to, and the offsets of these.
    pub arrays: Vec<(usize, Objects)>,
}

/// Reads the entry points in PTX, with their parameters; without those that take anything but
/// numbers and pointers.
#[must_use]
pub fn entries(ptx: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    // The number of the next parameter, while there can be one.
    let mut next = None;
    for line in ptx.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix(".visible .entry ") {
            let name = name.trim_end_matches(['(', ')', ' ']).to_owned();
            entries.push(Entry { name, ..Entry::default() });
            next = Some(0);
        } else if let (Some(number), Some(entry), Some(parameter)) =
            (&mut next, entries.last_mut(), line.strip_prefix(".param ."))
        {
            let kind = parameter.split([' ', '\t']).next().unwrap_or_default();
            let is_known = !parameter.contains('[') && *number < Objects::MOST_ARRAYS;
            let size = match kind.get(1..).filter(|_| is_known) {
                Some("8") => 1,
                Some("16") => 2,
                Some("32") => 4,
                Some("64") => 8,
                _ => {
                    entries.pop();
                    next = None;
                    continue;
                }
            };
            let offset = entry.bytes.next_multiple_of(size);
            if parameter.contains(" .ptr") {
                entry.arrays.push((offset, Objects::array(*number)));
            }
            entry.bytes = offset + size;
            *number += 1;
        } else if line.starts_with('{') {
            next = None;
        }
    }
    entries
}

/// What the constant banks of a kernel hold.
#[derive(Copy, Clone, Debug)]
struct Constants<'a> {
    entry: &'a Entry,
    /// Where the parameters begin in bank 0.
    parameters: usize,
}

impl<'a> Constants<'a> {
    fn new(entry: &'a Entry, arch: &str) -> Result<Self, String> {
        let number = arch.strip_prefix("sm_").map(|number| number.trim_end_matches(['a', 'f']));
        let parameters = match number.and_then(|number| number.parse().ok()) {
            Some(80..=89) => 0x160,
            Some(90) => 0x210,
            Some(100..=121) => 0x380,
            _ => return Err(format!("architecture {arch}")),
        };
        Ok(Self { entry, parameters })
    }

    /// Returns the objects that constants point to, at an offset to which an index may be added.
    fn objects(
        &self,
        bank: u32,
        offset: usize,
        bytes: usize,
        is_indexed: bool,
    ) -> Result<Objects, String> {
        match bank {
            0 if is_indexed => {
                Ok(self.entry.arrays.iter().fold(Objects::NONE, |all, (_, array)| all | *array))
            }
            0 => {
                let (start, end) = (offset, offset + bytes);
                let last = self.parameters + self.entry.bytes.next_multiple_of(4);
                if end > last || (start < self.parameters && end > self.parameters) {
                    return Err("a constant that is no parameter".into());
                }
                let meets = |&&(at, _): &&(usize, Objects)| {
                    let at = self.parameters + at;
                    start < at + 8 && at < end
                };
                let arrays = self.entry.arrays.iter().filter(meets);
                Ok(arrays.fold(Objects::NONE, |all, (_, array)| all | *array))
            }
            2 => Ok(Objects::NONE),
            4 => Ok(Objects::TABLES),
            _ => Err(format!("constant bank {bank}")),
        }
    }
}

/// Decodes the kernels in what `nvdisasm -c -plr -lrm narrow` prints.
///
/// Every entry point must be there, and nothing else.
#[must_use]
pub fn decode(listing: &str, entries: &[Entry], arch: &str) -> Vec<Result<Program, NotUnderstood>> {
    let mut programs = Vec::new();
    let mut missing: Vec<&Entry> = entries.iter().collect();
    for function in functions(listing) {
        programs.push(function.and_then(|function| {
            let position = missing.iter().position(|entry| entry.name == function.name);
            let entry = position.map(|position| missing.swap_remove(position));
            kernel(&function, entry, arch)
        }));
    }
    for entry in missing {
        let is_named = |program: &Result<Program, NotUnderstood>| match program {
            Ok(program) => program.name == entry.name,
            Err(error) => error.kernel == entry.name,
        };
        if !programs.iter().any(is_named) {
            programs.push(Err(NotUnderstood {
                kernel: entry.name.clone(),
                place: String::new(),
                text: "the machine code lacks it".into(),
            }));
        }
    }
    programs
}

fn kernel(
    function: &Function<'_>,
    entry: Option<&Entry>,
    arch: &str,
) -> Result<Program, NotUnderstood> {
    let fault = |index: usize, reason: String| {
        let line = function.lines.get(index);
        NotUnderstood {
            kernel: function.name.to_owned(),
            place: line.map_or(String::new(), |line| format!("{:#06x}", line.address)),
            text: line.map_or(reason.clone(), |line| format!("{}: {reason}", line.text)),
        }
    };
    let entry = entry.ok_or_else(|| fault(0, "no entry point in the PTX".into()))?;
    let constants = Constants::new(entry, arch).map_err(|reason| fault(0, reason))?;
    let mut decoder = Decoder::new(function, constants);
    let mut code = Vec::new();
    for (index, line) in function.lines.iter().enumerate() {
        code.push(decoder.decode(line).map_err(|reason| fault(index, reason))?);
    }
    let mut program = decoder.program;
    program.arrays = entry.arrays.iter().fold(Objects::NONE, |all, (_, array)| all | *array);
    program.code = code;
    drop_padding(&mut program);
    check_ends(&program).map_err(|index| fault(index, "it goes on behind the kernel".into()))?;
    let label = |name: &str| function.labels.get(name).copied();
    match convergence::astray(&program.code, &label) {
        Some(index) => Err(fault(index, "threads may meet elsewhere".into())),
        None => Ok(program),
    }
}

/// Drops the `NOP`s and the jump to itself behind the last exit.
fn drop_padding(program: &mut Program) {
    while let Some(last) = program.code.last() {
        let index = program.code.len() - 1;
        let is_padding = match &last.effect {
            Effect::Jump { targets, .. } => last.guard.is_none() && *targets == [index],
            _ => last.text == "NOP",
        };
        if !is_padding {
            break;
        }
        program.code.pop();
    }
}

/// Checks that no instruction goes on behind the last one; else returns one that does.
fn check_ends(program: &Program) -> Result<(), usize> {
    let end = program.code.len();
    for (index, instruction) in program.code.iter().enumerate() {
        let (goes_on, leaves) = match &instruction.effect {
            Effect::Jump { targets, falls_through, .. } => {
                (*falls_through, targets.iter().any(|&target| target >= end))
            }
            Effect::Exit { .. } => (instruction.guard.is_some(), false),
            _ => (true, false),
        };
        if leaves || goes_on && index + 1 == end {
            return Err(index);
        }
    }
    if end == 0 { Err(0) } else { Ok(()) }
}

/// Assembles PTX for an architecture and decodes the machine code of its kernels.
///
/// # Errors
/// If one of the tools fails.
pub fn programs(
    ptxas: &Path,
    nvdisasm: &Path,
    ptx: &str,
    arch: &str,
) -> crate::Result<Vec<Result<Program, NotUnderstood>>> {
    let folder = tempfile::tempdir().at("create a folder in", &std::env::temp_dir())?;
    let path = folder.path().join("kernels.ptx");
    std::fs::write(&path, ptx).at("write", &path)?;
    let code = machine_code(ptxas, nvdisasm, &path, arch, true)?;
    let mut programs = decode(&code.listing, &entries(ptx), arch);
    let sources = lines::sources(&code.lines);
    for program in programs.iter_mut().flatten() {
        let Some(sources) = sources.get(program.name.as_str()) else { continue };
        for instruction in &mut program.code {
            instruction.source = sources.get(&instruction.place).cloned();
        }
    }
    Ok(programs)
}
