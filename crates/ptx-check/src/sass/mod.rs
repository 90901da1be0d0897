//! The decoder of machine code (SASS), as NVIDIA's disassembler prints it.
//!
//! NVIDIA does not document the machine code, so the decoder refuses every instruction that it does
//! not know. It takes the registers that an instruction reads and writes from the text, and the
//! live ranges that the disassembler prints beside the text must name the same registers. A
//! mistake in one of the two therefore leads to a refusal. Text and live ranges may differ in three
//! cases: jumps in the form of calls, the predicates that `P2R` copies, and descriptors of global
//! accesses that the text does not name.
//!
//! # Rules
//!
//! - **Arithmetic** (`opcodes`): the time of operations on integers and on floating-point numbers
//!   of 16 and 32 bits, of conversions, moves, selections and comparisons does not depend on their
//!   operands. Each bit of a result depends on all bits of all operands, unless `bits` knows
//!   better. Opcodes and modifiers that are not in the table are refused.
//! - **Predicates** guard instructions. The guard of an access to memory, a branch, an exit, a
//!   barrier, a shuffle or a matrix product must be public. The guard of arithmetic may be secret,
//!   and then the result is secret. `predicates` derives conditions on older predicates from newer
//!   ones.
//! - **Memory**: addresses must be public. `LDG` and `STG` access arrays and tables. `LDS` and
//!   `STS` access shared memory, which is one object. Local memory, generic addresses, atomics and
//!   copies that bypass registers are refused.
//! - **Constants**: bank 0 holds the driver's data about the launch and, from an offset that
//!   depends on the architecture, the kernel's parameters. Bank 2 holds constants of the assembler,
//!   and bank 4 holds addresses of variables, which are tables unless the host can write one of
//!   them. Then, bank 4 is refused, and so are other banks and offsets after the parameters. An
//!   index must be public.
//! - **Control flow**: a branch jumps to a label of the kernel. A branch with modifiers or further
//!   conditions (`BRA.U`, `BRA.DIV`, `BRA.CONV`) may or may not jump, and if it does not jump,
//!   nothing is known about its guard. `CALL.REL.NOINC` is a jump, too, because `RET` is refused.
//!   `BSSY` and `BSYNC` continue at the next instruction, which `convergence` checks. Indirect
//!   branches are refused. After the last exit, there may be a jump to itself and `NOP`s, which are
//!   never executed.
//! - **Warps**: shuffles, votes, matrix products and `R2UR` read registers of other threads of the
//!   warp. The predicates of one thread tell nothing about those. A warp has one set of uniform
//!   registers. The decoder trusts that the assembler writes them only where all threads of the
//!   warp agree.
//! - **Division** has no instruction of its own. Compilers compute it with `MUFU.RCP`, whose
//!   operand must be public. The decoder takes multiplications, shifts and permutations of bytes as
//!   constant-time.
//! - **Special registers** with numbers of threads and blocks are public. All others, such as
//!   clocks, are refused.
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
use crate::flow::program::{Effect, NotUnderstood, Objects, Program, name};
use crate::flow::ptx::is_array;
use crate::syntax::{self, Module};
use crate::tools::{self, machine_code};

/// The parameters of an entry point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The kernel's name.
    pub name: String,
    /// The size of the parameters in bytes.
    pub bytes: usize,
    /// The arrays that the parameters point to, with the offsets of the parameters.
    pub arrays: Vec<(usize, Objects)>,
    /// Whether the module has variables that the host can write.
    pub has_variables: bool,
}

/// Returns the entry points of PTX with their parameters. Skips kernels with parameters that are
/// neither numbers nor pointers.
#[must_use]
pub fn entries(module: &Module<'_>) -> Vec<Entry> {
    let own = module.functions.iter().flat_map(|function| &function.variables);
    let mut global = module.variables.iter().chain(own);
    let has_variables =
        global.any(|variable| matches!(variable.space, "global" | "const") && !variable.is_table());
    let entries = module.kernels().filter_map(entry);
    entries.map(|entry| Entry { has_variables, ..entry }).collect()
}

fn entry(kernel: &syntax::Function<'_>) -> Option<Entry> {
    let mut entry = Entry { name: kernel.name.to_owned(), ..Entry::default() };
    (kernel.parameters.len() <= Objects::MOST_ARRAYS).then_some(())?;
    for (number, parameter) in kernel.parameters.iter().enumerate() {
        (parameter.length == Some(1)).then_some(())?;
        let size = usize::try_from(parameter.kind.bytes()).ok()?;
        let offset = entry.bytes.next_multiple_of(size);
        if is_array(kernel, parameter) {
            entry.arrays.push((offset, Objects::array(number)));
        }
        entry.bytes = offset + size;
    }
    Some(entry)
}

/// The content of a kernel's constant banks.
#[derive(Copy, Clone, Debug)]
struct Constants<'a> {
    entry: &'a Entry,
    /// The offset of the parameters in bank 0.
    parameters: usize,
}

impl<'a> Constants<'a> {
    fn new(entry: &'a Entry, arch: &str) -> Result<Self, String> {
        let number = arch.strip_prefix("sm_").map(|number| number.trim_end_matches(['a', 'f']));
        let parameters = match number.and_then(|number| number.parse().ok()) {
            Some(80..=89) => 0x160,
            Some(90) => 0x210,
            Some(100..=121) => 0x380,
            _ => return Err(format!("unknown architecture {arch}")),
        };
        Ok(Self { entry, parameters })
    }

    /// Returns the objects to which `bytes` bytes of constants at `offset` of a bank can point. If
    /// `is_indexed`, the instruction adds an unknown index to the offset.
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
                    return Err("the constant is no parameter".into());
                }
                let meets = |&&(at, _): &&(usize, Objects)| {
                    let at = self.parameters + at;
                    start < at + 8 && at < end
                };
                let arrays = self.entry.arrays.iter().filter(meets);
                Ok(arrays.fold(Objects::NONE, |all, (_, array)| all | *array))
            }
            2 => Ok(Objects::NONE),
            4 if !self.entry.has_variables => Ok(Objects::TABLES),
            _ => Err(format!("constant bank {bank}")),
        }
    }
}

/// Decodes the kernels in the output of `nvdisasm -c -plr -lrm narrow`.
///
/// The output must contain every entry point and no other function.
#[must_use]
pub fn decode(listing: &str, entries: &[Entry], arch: &str) -> Vec<Result<Program, NotUnderstood>> {
    let decoded = |function: Result<Function<'_>, NotUnderstood>| {
        let function = function?;
        let entry = entries.iter().find(|entry| entry.name == function.name);
        kernel(&function, entry, arch)
    };
    let mut programs: Vec<_> = functions(listing).into_iter().map(decoded).collect();
    for entry in entries {
        if !programs.iter().any(|program| name(program) == entry.name) {
            programs.push(Err(NotUnderstood {
                kernel: entry.name.clone(),
                place: String::new(),
                text: "the machine code lacks this kernel".into(),
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
    let entry = entry.ok_or_else(|| fault(0, "the PTX has no such entry point".into()))?;
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
    check_ends(&program)
        .map_err(|index| fault(index, "execution continues behind the kernel".into()))?;
    let label = |name: &str| function.labels.get(name).copied();
    match convergence::astray(&program.code, &label) {
        Some(index) => {
            Err(fault(index, "threads may meet elsewhere than at the next instruction".into()))
        }
        None => Ok(program),
    }
}

/// Drops the `NOP`s and the jump to itself after the last exit.
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

/// Checks that execution cannot continue after the last instruction. The error is the index of an
/// instruction from which execution can leave the kernel.
fn check_ends(program: &Program) -> Result<(), usize> {
    let end = program.code.len();
    for (index, instruction) in program.code.iter().enumerate() {
        let (targets, goes_on) = instruction.next();
        if targets.iter().any(|&target| target >= end) || goes_on && index + 1 == end {
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
) -> Result<Vec<Result<Program, NotUnderstood>>, tools::Error> {
    let code = machine_code(ptxas, nvdisasm, ptx, arch, true)?;
    let mut programs = decode(&code.listing, &entries(&syntax::parse(ptx)?), arch);
    let sources = lines::sources(&code.lines);
    for program in programs.iter_mut().flatten() {
        let Some(sources) = sources.get(program.name.as_str()) else { continue };
        for instruction in &mut program.code {
            instruction.source = sources.get(&instruction.place).cloned();
        }
    }
    Ok(programs)
}
