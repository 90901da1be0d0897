//! `cargo xtask machine-code`: searches the machine code of the library for divisions, and for
//! vector lanes that decide branches or addresses.

mod divisions;
mod lanes;

use std::path::PathBuf;
use std::process::Command;

use ptx_check::tools;

use crate::{Error, Result};

/// Looks for divisions in machine code, and for vector lanes that decide branches or addresses
///
/// The library is that of tests/no-std, a release build. It contains one division and one branch on
/// a lane, which the search must find.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The static library
    library: PathBuf,
    /// The disassembler of GNU binutils for the library
    #[arg(long, default_value = "objdump")]
    objdump: String,
}

/// A library, as the disassembler prints it.
struct Listing<'a> {
    is_arm: bool,
    functions: Vec<Function<'a>>,
}

/// A function that a crate has compiled.
struct Function<'a> {
    /// The crate that has compiled it. A generic function may be of another crate.
    compiled_in: &'a str,
    name: &'a str,
    /// What the disassembler prints of it: instructions, and what the linker adds to them.
    lines: Vec<&'a str>,
}

impl<'a> Listing<'a> {
    fn new(text: &'a str) -> Self {
        let mut functions: Vec<Function<'a>> = vec![];
        // The compiler's own library divides when it prints numbers.
        let is_own = |name: &&str| ["alloc", "compiler_builtins", "core"].contains(name);
        let mut compiled_in = None;
        for line in text.lines() {
            if let Some((member, _)) = line.split_once(":     file format ") {
                let of_crate = member.strip_suffix(".rcgu.o").and_then(|name| name.split_once('-'));
                compiled_in = of_crate.map(|(name, _)| name).filter(|name| !is_own(name));
            } else if let Some(compiled_in) = compiled_in {
                let after = line.split_once(" <").map(|(_, name)| name);
                if let Some(name) = after.and_then(|name| name.strip_suffix(">:")) {
                    functions.push(Function { compiled_in, name, lines: vec![] });
                } else if let Some(function) = functions.last_mut() {
                    function.lines.push(line);
                }
            }
        }
        Self { is_arm: text.contains("file format elf64-littleaarch64"), functions }
    }
}

/// Returns the symbol in a line that says what the linker adds to the instruction before it.
fn symbol(line: &str) -> Option<&str> {
    line.trim_start().split_once(": R_")?.1.split_once('\t').map(|(_, symbol)| symbol)
}

/// Runs the job.
///
/// # Errors
/// [`Error::Program`] if the disassembler does not read the library,
/// [`Error::Faults`] if there are divisions, if lanes decide branches or addresses, or if a
/// search finds nothing in the function that was planted for it.
pub fn run(options: &Options) -> Result<()> {
    let mut objdump = Command::new(&options.objdump);
    objdump.args(["-d", "-r", "-C", "--no-show-raw-insn"]).arg(&options.library);
    let text = tools::text(&mut objdump)?;
    let listing = Listing::new(&text);
    let mut faults = divisions::faults(&listing);
    faults.extend(lanes::faults(&listing));
    Error::unless_none("the machine code of the library breaks rules", faults)?;
    println!("{} functions, the planted division and leak", listing.functions.len());
    Ok(())
}
