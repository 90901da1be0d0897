//! `ptx-check run`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ptx_check::run::{Broken, Error as Refused, Launch, Rule};
use ptx_check::syntax::Position;
use serde_json::{Value, json};

use crate::Error;
use crate::arguments::Passed;

/// Runs a kernel on the CPU and checks what it does
///
/// Exit status: 0 if the launch ended, 1 if a thread broke a rule, 2 if the launch could not begin
/// or an instruction is not known.
///
/// An argument of the kernel is one of
///   read:FILE          an array
///   update:FILE:OUT    an array, which is written to OUT after the launch
///   new:TYPE[N]:OUT    an array of which nothing is defined, such as new:f32[16x16]:c.npy
///   zero:TYPE[N]:OUT   an array of zeros
///   5, -1, 0x1f, 2.5   a number of the parameter's type
///   u8:5               a number of this type
///   {ARGUMENT,...}     a struct, whose numbers have types
/// Files with names in .npy are arrays of numpy, others are bytes.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    /// The file with PTX
    file: PathBuf,
    /// The arguments of the kernel
    #[arg(value_name = "ARGUMENT", allow_negative_numbers = true)]
    arguments: Vec<String>,
    /// The kernel. Not needed if the file has one
    #[arg(long)]
    kernel: Option<String>,
    /// The number of blocks, as in 4 or 4,2,1
    #[arg(long, default_value = "1", value_parser = shape)]
    grid: [u32; 3],
    /// The number of threads of a block, as in 128 or 16,16
    #[arg(long, default_value = "1", value_parser = shape)]
    block: [u32; 3],
    /// The bytes of shared memory besides those that the kernel declares
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    shared: u32,
    /// Let the warps of a block take turns in an order that follows from this number
    #[arg(long)]
    seed: Option<u64>,
    /// The most instructions, counted for each thread
    #[arg(long, default_value_t = 100_000_000_000, value_name = "NUMBER")]
    most_instructions: u64,
    /// The most seconds
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    most_seconds: u64,
    /// The most memory for arrays and checks, in MiB
    #[arg(long, default_value_t = 4096, value_name = "MIB")]
    most_memory: u64,
}

/// Reads up to three sizes.
fn shape(text: &str) -> Result<[u32; 3], String> {
    let sizes: Vec<u32> = text
        .split(',')
        .map(|size| size.trim().parse().map_err(|_| format!("{size} is no size")))
        .collect::<Result<_, _>>()?;
    match sizes[..] {
        [x] => Ok([x, 1, 1]),
        [x, y] => Ok([x, y, 1]),
        [x, y, z] => Ok([x, y, z]),
        _ => Err("more than three sizes".to_owned()),
    }
}

impl Run {
    pub(crate) fn run(&self, as_json: bool) -> Result<u8, Error> {
        let text = crate::read_text(&self.file)?;
        let module = crate::parse(&self.file, &text)?;
        let named = |name: &String| {
            let kernel = module.kernels().find(|kernel| kernel.name == name);
            kernel.ok_or_else(|| Error::Launch(Refused::NoKernel(name.clone())))
        };
        let kernel = match (&self.kernel, module.kernels().count()) {
            (Some(name), _) => named(name)?,
            (None, 0 | 1) => module.kernels().next().ok_or(Error::NoKernel)?,
            (None, _) => return Err(Error::SeveralKernels(self.file.clone())),
        };
        let (takes, given) = (kernel.parameters.len(), self.arguments.len());
        if takes != given {
            let kernel = kernel.name.to_owned();
            return Err(Error::Launch(Refused::Count { kernel, takes, given }));
        }
        let mut passed = Passed::default();
        for (text, parameter) in self.arguments.iter().zip(&kernel.parameters) {
            passed.read(text, parameter)?;
        }
        let launch = Launch {
            grid: self.grid,
            block: self.block,
            shared_bytes: self.shared,
            seed: self.seed,
            most_instructions: self.most_instructions,
            most_time: Some(Duration::from_secs(self.most_seconds)),
            most_bytes: self.most_memory.saturating_mul(1 << 20),
            ..Launch::new(&module, kernel.name)
        };
        let began = Instant::now();
        let done = launch.run(&mut passed.arrays, &passed.arguments);
        let seconds = began.elapsed().as_secs_f64();
        match done {
            Ok(instructions) => {
                passed.write()?;
                if as_json {
                    let head = json!({ "file": self.file, "kernel": kernel.name });
                    let count = json!({ "instructions": instructions, "seconds": seconds });
                    crate::tell(format_args!("{:#}", joined(head, count)))?;
                } else {
                    crate::tell(format_args!(
                        "{}: {instructions} instructions, no fault",
                        kernel.name
                    ))?;
                }
                Ok(0)
            }
            Err(Refused::Broken(broken)) => {
                if as_json {
                    let head = json!({ "file": self.file, "kernel": kernel.name });
                    crate::tell(format_args!(
                        "{:#}",
                        joined(head, json!({ "fault": fault(&broken) }))
                    ))?;
                } else {
                    crate::tell(format_args!("{}: {broken}", self.file.display()))?;
                }
                Ok(1)
            }
            Err(refused) => Err(Error::Launch(refused)),
        }
    }
}

/// Adds the entries of a second object to a first one.
fn joined(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second);
    }
    first
}

fn fault(broken: &Broken) -> Value {
    let Broken { kernel: _, block, thread, at, text, source, rule } = broken;
    let place = |at: &Position| json!({ "line": at.line, "column": at.column });
    let fault = json!({
        "rule": rule.name(), "message": rule.to_string(), "block": block, "thread": thread,
        "at": place(at), "text": text, "source": source,
    });
    match rule {
        Rule::Race { byte, block, thread, is_write, at, text, near } => {
            let other = json!({
                "byte": byte, "block": block, "thread": thread, "is_write": is_write,
                "at": place(at), "text": text, "source": near,
            });
            joined(fault, json!({ "other": other }))
        }
        _ => fault,
    }
}
