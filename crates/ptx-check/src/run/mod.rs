//! Runs kernels on the CPU, and checks what they do.
//!
//! The threads of a warp that are at the same instruction execute it together. Of several groups,
//! the one at the earliest instruction goes first, so threads that part meet again as soon as they
//! can. An instruction for several threads of a warp waits for all of them. Blocks run as if one
//! after the other; `blocks` says how cores share them.
//!
//! A launch ends with an [`Error`] at the first access outside of memory, to undefined memory or
//! without alignment, at the first race, and when threads wait for others in vain. Two threads race
//! if both access a byte, one of them writes, not both accesses are atomic, and no barrier lies
//! between. Each byte remembers its last write, two atomic operations and two reads, so a race with
//! a third one can be missed. An instruction that is not known is refused before the launch begins.

mod arithmetic;
mod blocks;
mod exchange;
mod fault;
mod float;
mod floating;
mod matrix;
mod memory;
mod program;
mod space;
mod special;
mod value;
mod warp;

pub use self::fault::{Broken, Error, Rule};
use std::time::{Duration, Instant};

use self::fault::{Fault, Kind, Moment};
use self::memory::Region;
use self::program::{Code, constant, program};
use self::warp::{Block, Memory};
use crate::syntax::{Function, Module, Variable};

/// The largest sizes of a launch: threads of a block, and bytes of each kind of memory: of a block,
/// and for variables of the module.
const MOST_THREADS: u64 = 1024;
const MOST_SHARED: u64 = 256 << 10;
const MOST_LOCAL: u64 = 64 << 20;
const MOST_PARAMETERS: u64 = 32 << 10;
const MOST_VARIABLES: u64 = 256 << 20;
/// The most memory for a byte that a kernel can write, with what is known of its last accesses.
const BYTES_PER_BYTE: u64 = 112;
/// The memory for a register of a warp.
const BYTES_PER_REGISTER: u64 = 256;
/// The distance between the addresses of two arrays, which no array reaches.
const APART: u32 = 36;

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch<'m> {
    /// The text with the kernel.
    pub module: &'m Module<'m>,
    /// The name of the kernel.
    pub kernel: &'m str,
    /// The number of blocks in each direction.
    pub grid: [u32; 3],
    /// The number of threads of a block in each direction.
    pub block: [u32; 3],
    /// The bytes of shared memory besides those that the kernel declares.
    pub shared_bytes: u32,
    /// Lets the warps of a block take turns in an order that follows from this number. Without it,
    /// each warp runs until it waits.
    pub seed: Option<u64>,
    /// The number of instructions, counted for each thread, after which the launch fails.
    pub most_instructions: u64,
    /// The time after which the launch fails.
    pub most_time: Option<Duration>,
    /// The memory that the launch may need, with what it remembers of each byte.
    pub most_bytes: u64,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The address of the array with this index.
    Array(usize),
    /// A number, of which the parameter takes the lowest bytes.
    Number(u64),
    /// A struct.
    Bytes {
        /// Its content.
        bytes: Vec<u8>,
        /// The places of addresses in it, and the arrays to which these lead.
        addresses: Vec<(usize, usize)>,
    },
}

/// Memory of the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Array {
    /// The content.
    pub bytes: Vec<u8>,
    /// Which bytes have been written. Kernels must not read others.
    pub defined: Vec<bool>,
}

impl Array {
    /// Returns memory with a content.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { defined: vec![true; bytes.len()], bytes }
    }

    /// Returns memory without a content.
    #[must_use]
    pub fn undefined(bytes: usize) -> Self {
        Self { bytes: vec![0xa5; bytes], defined: vec![false; bytes] }
    }
}

impl<'m> Launch<'m> {
    /// Returns a launch of one thread without limits.
    #[must_use]
    pub const fn new(module: &'m Module<'m>, kernel: &'m str) -> Self {
        Self {
            module,
            kernel,
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            seed: None,
            most_instructions: u64::MAX,
            most_time: None,
            most_bytes: u64::MAX,
        }
    }

    /// Runs the kernel. Returns the number of instructions, counted for each thread.
    ///
    /// # Errors
    /// [`Error`] if the launch cannot begin, or at the first rule that a thread breaks. Then the
    /// arrays have what was written so far.
    pub fn run(&self, arrays: &mut [Array], arguments: &[Argument]) -> Result<u64, Error> {
        let kernel = self.module.kernels().find(|kernel| kernel.name == self.kernel);
        let kernel = kernel.ok_or_else(|| Error::NoKernel(self.kernel.to_owned()))?;
        let product =
            |sizes: [u32; 3]| sizes.iter().try_fold(1_u64, |all, &n| all.checked_mul(n.into()));
        let (Some(threads), Some(blocks)) = (product(self.block), product(self.grid)) else {
            return Err(Error::Shape);
        };
        if !(1..=MOST_THREADS).contains(&threads) || !(1..=u64::from(u32::MAX)).contains(&blocks) {
            return Err(Error::Shape);
        }
        let reached = self.module.reached(kernel);
        let own = reached.iter().flat_map(|function| &function.variables);
        let is_global = |variable: &&Variable<'_>| matches!(variable.space, "global" | "const");
        let variables = self.module.variables.iter().chain(own).filter(is_global);
        let variables: Vec<&Variable<'_>> = variables.collect();
        let mut regions = Vec::new();
        let mut left = MOST_VARIABLES;
        for variable in &variables {
            let region = content(variable, &mut left).ok_or_else(|| Error::Unknown {
                kernel: kernel.name.to_owned(),
                at: variable.at,
                text: variable.name.to_owned(),
            })?;
            regions.push(region);
        }
        let address = |index: usize| (index as u64 + 1) << APART;
        let indices = variables.iter().enumerate();
        let addresses = indices.map(|(index, variable)| (variable.name, address(index))).collect();
        let code = program(self.module, kernel, &addresses)?;
        let shared = code.shared.saturating_add(self.shared_bytes.into());
        let local = code.local.saturating_mul(threads);
        let variables = regions.iter().map(|region| region.bytes.len());
        let lengths = variables.chain(arrays.iter().map(|array| array.bytes.len()));
        let bytes = lengths.map(|length| length as u64).chain([shared, local]);
        let bytes = bytes.fold(0, u64::saturating_add).saturating_mul(BYTES_PER_BYTE);
        let registers = code.widths.len() as u64 * threads.div_ceil(32) * BYTES_PER_REGISTER;
        let bytes = bytes.saturating_add(registers);
        for (what, bytes, most) in [
            ("shared memory", shared, MOST_SHARED),
            ("local memory", local, MOST_LOCAL),
            ("parameters", code.parameter_bytes, MOST_PARAMETERS),
            ("all memory", bytes, self.most_bytes),
        ] {
            if bytes > most {
                return Err(Error::Memory { what, bytes, most });
            }
        }
        let first = regions.len();
        let parameters = passed(kernel, &code, arrays, arguments, &|index| address(first + index))?;
        for array in arrays.iter_mut() {
            let Array { bytes, defined } = std::mem::take(array);
            regions.push(Region::new(bytes, defined, false));
        }
        let mut memory =
            Memory { regions, shared: Region::default(), arrivals: Default::default(), parameters };
        // So many copies of the memory, with a block each, may there be.
        let most = usize::try_from(self.most_bytes / bytes.max(1));
        let most = most.unwrap_or(usize::MAX);
        let done = self.blocks(kernel, &code, shared as usize, &mut memory, most);
        for (array, region) in arrays.iter_mut().zip(memory.regions.drain(first..)) {
            *array = Array { bytes: region.bytes, defined: region.defined };
        }
        done
    }

    fn blocks(
        &self,
        kernel: &Function<'_>,
        code: &Code<'_>,
        shared: usize,
        memory: &mut Memory,
        most: usize,
    ) -> Result<u64, Error> {
        let mut left = self.most_instructions;
        let end = self.most_time.and_then(|time| Instant::now().checked_add(time));
        let block = || Block::new(code, self.grid, self.block, shared, self.seed, end);
        let count = self.grid.iter().product();
        let done = blocks::run(&block, memory, count, &mut left, most);
        done.map_err(|fault| self.broken(kernel, code, &fault))?;
        Ok(self.most_instructions - left)
    }

    /// Adds the names to a fault.
    fn broken(&self, kernel: &Function<'_>, code: &Code<'_>, fault: &Fault) -> Error {
        let Moment { block, thread, at, .. } = fault.now;
        let instruction = |at: u32| code.steps.get(at as usize).and_then(|step| step.read);
        let text = |at: u32| {
            let words = instruction(at).map_or("the end", |read| read.text).split_whitespace();
            words.collect::<Vec<_>>().join(" ")
        };
        let position = |at: u32| instruction(at).map_or(kernel.at, |read| read.at);
        let source = |at: u32| instruction(at).and_then(|read| self.module.source(read));
        let rule = match fault.kind.clone() {
            Kind::Race { earlier, is_write, byte } => Rule::Race {
                byte,
                block: place(earlier.block, self.grid),
                thread: place(earlier.thread, self.block),
                is_write,
                at: position(earlier.at),
                text: text(earlier.at),
                near: source(earlier.at),
            },
            Kind::Plain(rule) => *rule,
        };
        Error::Broken(Box::new(Broken {
            kernel: kernel.name.to_owned(),
            block: place(block, self.grid),
            thread: place(thread, self.block),
            at: position(at),
            text: text(at),
            source: source(at),
            rule,
        }))
    }
}

/// Returns the coordinates of a number.
const fn place(number: u32, sizes: [u32; 3]) -> [u32; 3] {
    [number % sizes[0], number / sizes[0] % sizes[1], number / sizes[0] / sizes[1]]
}

/// Returns the memory of a variable, or `None` if its content is not known or too large.
fn content(variable: &Variable<'_>, left: &mut u64) -> Option<Region> {
    let size = variable.kind.bytes();
    let bytes = variable.length?.checked_mul(size)?;
    *left = left.checked_sub(bytes)?;
    let mut content = vec![0; usize::try_from(bytes).ok()?];
    let elements = content.chunks_exact_mut(usize::try_from(size).ok()?);
    for (element, initial) in elements.zip(&variable.initial) {
        let value = constant(initial, variable.kind)?;
        element.copy_from_slice(value.to_le_bytes().get(..element.len())?);
    }
    Some(Region::defined(content, variable.space == "const"))
}

/// Returns the memory with the parameters.
fn passed(
    kernel: &Function<'_>,
    code: &Code<'_>,
    arrays: &[Array],
    arguments: &[Argument],
    address: &dyn Fn(usize) -> u64,
) -> Result<Region, Error> {
    let (takes, given) = (code.parameters.len(), arguments.len());
    if takes != given {
        return Err(Error::Count { kernel: kernel.name.to_owned(), takes, given });
    }
    let mut content = vec![0; code.parameter_bytes as usize];
    for (index, (argument, &(offset, size))) in arguments.iter().zip(&code.parameters).enumerate() {
        let is_whole = |array: &Array| array.bytes.len() == array.defined.len();
        let array = |index: usize| {
            arrays.get(index).filter(|array| is_whole(array)).map(|_| address(index).to_le_bytes())
        };
        let bytes = match argument {
            Argument::Array(index) => array(*index).filter(|_| size == 8).map(Vec::from),
            Argument::Number(number) => {
                number.to_le_bytes().get(..size as usize).map(<[u8]>::to_vec)
            }
            Argument::Bytes { bytes, addresses } => {
                let mut bytes = bytes.clone();
                // Compilers fill structs up to a multiple of their alignment.
                bytes.resize(bytes.len().max(size as usize), 0);
                let written = addresses.iter().try_for_each(|&(at, index)| {
                    bytes.get_mut(at..)?.get_mut(..8)?.copy_from_slice(&array(index)?);
                    Some(())
                });
                written.map(|()| bytes).filter(|bytes| bytes.len() as u64 == size)
            }
        };
        let bytes = bytes.ok_or_else(|| Error::Argument {
            kernel: kernel.name.to_owned(),
            index,
            parameter: kernel.parameters[index].name.to_owned(),
            size,
        })?;
        content[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    Ok(Region::defined(content, true))
}
