//! What the kernels become on real machines: registers, memory and instructions, as NVIDIA's assembler makes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::build_ptx::{LABORATORY, RECIPE};
use crate::tools::Tool;
use crate::{Error, IoContext, Result, manifest, process, ptx, workspace};

/// The architectures that are looked at: A100, GeForce 30, GeForce 40, H100.
pub const ARCHITECTURES: &[&str] = &["sm_80", "sm_86", "sm_89", "sm_90"];

/// Classes of instructions that have a column of their own in the table.
const COLUMNS: &[&str] = &[
    "IMAD",
    "IMAD.WIDE",
    "IMAD.HI",
    "IMMA",
    "IADD3",
    "LOP3",
    "SHF",
    "PRMT",
    "MOV",
    "SEL",
    "LDS",
    "STS",
    "LDG",
    "STG",
    "BAR",
    "SHFL",
    "BRA",
];

/// Shows what NVIDIA's assembler makes of the kernels: registers, spills, shared memory, instructions
///
/// Fails if a kernel spills registers, uses local memory, calls a function or divides integers. Instructions are counted as
/// they stand in the program: those in a loop once.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Architectures
    #[arg(long, value_delimiter = ',', default_values = ARCHITECTURES)]
    arch: Vec<String>,
    /// Only kernels whose name contains this
    #[arg(long, default_value = "")]
    kernel: String,
    /// Look at the reduction laboratory's kernels
    #[arg(long)]
    lab: bool,
    /// The PTX to look at instead of the committed one
    #[arg(long, value_name = "FILE")]
    ptx: Option<PathBuf>,
    /// Write everything there is to know to this file, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A kernel on an architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Architecture.
    pub arch: String,
    /// Name of the entry point.
    pub kernel: String,
    /// Its block, if this workspace has such a kernel.
    pub block: Option<Block>,
    /// What the assembler says of it.
    #[serde(flatten)]
    pub resources: Resources,
    /// Number of instructions of each class.
    pub instructions: BTreeMap<String, u32>,
}

/// What the assembler says of a kernel.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of local memory of a thread.
    pub stack_bytes: u32,
    /// Bytes that a thread stores because it is short of registers.
    pub spill_store_bytes: u32,
    /// Bytes that it loads again.
    pub spill_load_bytes: u32,
}

/// Shape of a kernel's blocks, as its descriptor says.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Threads of a block.
    pub threads: u32,
    /// Operations of a block.
    pub per_block: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
}

/// Does the job.
pub fn run(options: &Options) -> Result<()> {
    let (ptxas, nvdisasm) = (Tool::PTXAS.find()?, Tool::NVDISASM.find()?);
    let recipe = if options.lab { &LABORATORY } else { &RECIPE };
    let path = options.ptx.clone().unwrap_or_else(|| manifest::ptx_path(&workspace::root(), recipe));
    let blocks = blocks()?;
    let text = fs::read_to_string(&path).at("read", &path)?;
    let mut faults: Vec<_> = ptx::faults(&text).iter().map(ToString::to_string).collect();

    let mut lines = Vec::new();
    for arch in &options.arch {
        let (resources, sass) = compile(&ptxas, &nvdisasm, &path, arch)?;
        let mut instructions = instructions(&sass);
        for kernel in ptx::entries(&text).into_iter().filter(|kernel| kernel.contains(&options.kernel)) {
            let missing = |program| Error::Unreadable { program, what: kernel.into() };
            lines.push(Line {
                arch: arch.clone(),
                kernel: kernel.into(),
                block: blocks.get(kernel).copied(),
                resources: *resources.get(kernel).ok_or_else(|| missing("ptxas"))?,
                instructions: instructions.remove(kernel).ok_or_else(|| missing("nvdisasm"))?,
            });
        }
    }
    print!("{}", table(&lines));
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&lines)
            .map_err(|source| Error::Json { what: path.display().to_string(), source })?;
        fs::write(path, text + "\n").at("write", path)?;
    }
    faults.extend(lines.iter().flat_map(Line::faults));
    if faults.is_empty() { Ok(()) } else { Err(Error::BadKernels { faults }) }
}

/// Assembles `ptx` for `arch`; fails if the assembler does.
pub fn assemble(ptxas: &Path, ptx: &Path, arch: &str) -> Result<()> {
    let folder = temporary_folder()?;
    let cubin = folder.path().join("kernels.cubin");
    process::output(Command::new(ptxas).arg(format!("-arch={arch}")).arg(ptx).arg("-o").arg(cubin)).map(drop)
}

/// What the assembler says, by kernel, and the text of the program that it makes.
fn compile(
    ptxas: &Path,
    nvdisasm: &Path,
    ptx: &Path,
    arch: &str,
) -> Result<(BTreeMap<String, Resources>, String)> {
    let folder = temporary_folder()?;
    let cubin = folder.path().join("kernels.cubin");
    let said = process::output(
        Command::new(ptxas).args(["-v", &format!("-arch={arch}")]).arg(ptx).arg("-o").arg(&cubin),
    )?;
    let said = [said.stdout, said.stderr].concat();
    let sass = process::text(Command::new(nvdisasm).arg("-c").arg(&cubin))?;
    Ok((resources(&String::from_utf8_lossy(&said)), sass))
}

fn temporary_folder() -> Result<tempfile::TempDir> {
    tempfile::tempdir().at("create a folder in", &std::env::temp_dir())
}

/// Shapes of all blocks. They come from a program of their own, so that this one can be built when the kernels cannot.
fn blocks() -> Result<BTreeMap<String, Block>> {
    let mut example = process::cargo();
    example.current_dir(workspace::root());
    example.args([
        "run",
        "--quiet",
        "--package",
        "ctru-gpu-kernels",
        "--features",
        "lab",
        "--example",
        "kernels",
    ]);
    serde_json::from_str(&process::text(&mut example)?)
        .map_err(|source| Error::Json { what: "what the example kernels prints".into(), source })
}

/// Reads what `ptxas -v` writes.
#[must_use]
pub fn resources(text: &str) -> BTreeMap<String, Resources> {
    let mut kernels = BTreeMap::<String, Resources>::new();
    let mut current = String::new();
    for line in text.lines() {
        // The number before or after a word of this line.
        let number = |before: &str, after: &str| {
            let (_, rest) = line.split_once(before)?;
            rest.split_once(after)?.0.trim().rsplit(' ').next()?.parse::<u32>().ok()
        };
        if let Some(name) = line.split('\'').nth(1).filter(|_| line.contains("Compiling entry function")) {
            name.clone_into(&mut current);
        }
        let kernel = kernels.entry(current.clone()).or_default();
        if line.contains("bytes stack frame") {
            kernel.stack_bytes = number("", " bytes stack frame").unwrap_or_default();
            kernel.spill_store_bytes = number(",", " bytes spill stores").unwrap_or_default();
            kernel.spill_load_bytes = number("stores,", " bytes spill loads").unwrap_or_default();
        }
        if let Some(registers) = number("Used ", " registers") {
            kernel.registers = registers;
        }
    }
    kernels.remove("");
    kernels
}

/// Counts the instructions in what `nvdisasm -c` writes, by kernel and class.
#[must_use]
pub fn instructions(text: &str) -> BTreeMap<String, BTreeMap<String, u32>> {
    let mut kernels = BTreeMap::<String, BTreeMap<String, u32>>::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(section) = line.strip_prefix("//--------------------- ") {
            let name = section.split(' ').next().and_then(|section| section.strip_prefix(".text."));
            current = name.map(str::to_owned);
        }
        if let (Some(kernel), Some(class)) = (&current, class(line)) {
            *kernels.entry(kernel.clone()).or_default().entry(class.into()).or_default() += 1;
        }
    }
    kernels
}

/// The class of the instruction on this line: its name, and for IMAD what it is used for, since many are additions, shifts
/// and moves or work on 64 bits.
fn class(line: &str) -> Option<&str> {
    let (address, instruction) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    u32::from_str_radix(address, 16).ok()?;
    let mut words =
        instruction.split_whitespace().filter(|word| !word.starts_with('@') && !word.starts_with('{'));
    let name = words.next()?.trim_end_matches(';');
    let mut dots = name.match_indices('.').map(|(position, _)| position);
    let first = dots.next().unwrap_or(name.len());
    match &name[..first] {
        "NOP" => None,
        // A jump inside the kernel, for ends of loops at which threads may have parted.
        "CALL" if instruction.contains("`(.L_") => Some("BRA"),
        "IMAD" => match name[first..].split('.').nth(1) {
            Some("WIDE" | "HI" | "MOV" | "IADD" | "SHL" | "X") => {
                Some(&name[..dots.next().unwrap_or(name.len())])
            }
            _ => Some("IMAD"),
        },
        opcode => Some(opcode),
    }
}

impl Line {
    /// What no kernel may use and this one does.
    fn faults(&self) -> Vec<String> {
        let count = |classes: &[&str]| classes.iter().filter_map(|&class| self.instructions.get(class)).sum();
        let r = &self.resources;
        let used = [
            ("bytes of registers spilled", r.spill_store_bytes + r.spill_load_bytes),
            ("bytes of local memory", r.stack_bytes),
            ("accesses to local memory", count(&["LDL", "STL"])),
            ("calls", count(&["CALL"])),
            // The assembler makes an integer division of a floating-point reciprocal.
            ("reciprocals, as for integer division", count(&["MUFU"])),
        ];
        // Calls and reciprocals are the last two.
        let checked = if ptx::may_divide(&self.kernel) { used.len() - 2 } else { used.len() };
        used[..checked]
            .iter()
            .filter(|&&(_, count)| count > 0)
            .map(|&(what, count)| format!("{} on {}: {count} {what}", self.kernel, self.arch))
            .collect()
    }
}

/// The table for people.
fn table(lines: &[Line]) -> String {
    let headings = ["kernel", "arch", "threads", "shared", "registers", "stack", "spills", "all"];
    let headings =
        headings.iter().chain(COLUMNS).chain(&["other"]).map(|&heading| heading.to_owned()).collect();
    let mut rows: Vec<Vec<String>> = vec![headings];
    for line in lines {
        let of_block =
            |field: fn(Block) -> u32| line.block.map_or("?".into(), |block| field(block).to_string());
        let count = |class: &str| line.instructions.get(class).copied().unwrap_or_default();
        let (all, shown) =
            (line.instructions.values().sum::<u32>(), COLUMNS.iter().map(|class| count(class)).sum::<u32>());
        let r = line.resources;
        let mut row = vec![
            line.kernel.clone(),
            line.arch.clone(),
            of_block(|b| b.threads),
            of_block(|b| b.shared_bytes),
        ];
        row.extend(
            [r.registers, r.stack_bytes, r.spill_store_bytes + r.spill_load_bytes, all]
                .map(|n| n.to_string()),
        );
        row.extend(COLUMNS.iter().map(|class| count(class).to_string()));
        row.push((all - shown).to_string());
        rows.push(row);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths: Vec<_> = (0..rows[0].len()).map(width).collect();
    let format = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 | 1 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join(" ") + "\n"
    };
    rows.iter().map(format).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTXAS: &str = "ptxas info    : 9472 bytes gmem
ptxas info    : Compiling entry function 'multiply_sampled_761' for 'sm_90'
ptxas info    : Function properties for multiply_sampled_761
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers
ptxas info    : Compile time = 26.394 ms
ptxas info    : Compiling entry function 'multiply_sampled_653' for 'sm_90'
ptxas info    : Function properties for multiply_sampled_653
    224 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 48 registers, used 1 barriers, 224 bytes cumulative stack size
";

    const SASS: &str = r#"	.target	sm_90
//--------------------- .nv.info.a_653            --------------------------
        /*0000*/ 	.byte	0x04, 0x37
//--------------------- .text.a_653 --------------------------
	.section	.text.a_653,"ax",@progbits
a_653:
.text.a_653:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P2 LDG.E.U16 R10, desc[UR6][R16.64] ;
        /*0020*/                   IMAD R2, R4, 0x2ab, RZ ;
        /*0030*/                   IMAD.U32 R2, R4, 0x2ab, RZ ;
        /*0040*/               @P1 IMAD.WIDE.U32 R16, R9, 0x2, R16 ;
        /*0050*/                   IMAD.MOV.U32 R3, RZ, RZ, R5 ;
        /*0060*/                   EXIT ;
.L_x_1:
        /*0070*/                   BRA `(.L_x_1);
        /*0080*/                   NOP;
//--------------------- .text.b_653 --------------------------
        /*0000*/              @!P0 CALL.REL.NOINC `(.L_x_2) ;
.L_x_2:
        /*0010*/                   CALL.REL.NOINC `($b_653$__internal_0_$__cuda_sm20_div_u16) ;
"#;

    fn line(resources: Resources, classes: &[(&str, u32)]) -> Line {
        let instructions = classes.iter().map(|&(class, count)| (class.to_owned(), count)).collect();
        Line { arch: "sm_90".into(), kernel: "a_653".into(), block: None, resources, instructions }
    }

    #[test]
    fn reads_the_assembler() {
        let resources = resources(PTXAS);
        assert_eq!(resources.len(), 2);
        let clean = Resources { registers: 40, ..Default::default() };
        assert_eq!(resources["multiply_sampled_761"], clean);
        let other =
            Resources { registers: 48, stack_bytes: 224, spill_store_bytes: 16, spill_load_bytes: 20 };
        assert_eq!(resources["multiply_sampled_653"], other);
    }

    #[test]
    fn counts_instructions() {
        let instructions = instructions(SASS);
        let expected =
            [("BRA", 1), ("EXIT", 1), ("IMAD", 2), ("IMAD.MOV", 1), ("IMAD.WIDE", 1), ("LDC", 1), ("LDG", 1)];
        let of_a: Vec<_> =
            instructions["a_653"].iter().map(|(class, &count)| (class.as_str(), count)).collect();
        assert_eq!(of_a, expected);
        assert_eq!(
            instructions["b_653"],
            [("BRA", 1), ("CALL", 1)].map(|(class, n)| (class.to_owned(), n)).into()
        );
    }

    #[test]
    fn finds_bad_kernels() {
        assert!(line(Resources { registers: 255, ..Default::default() }, &[("IMAD", 9)]).faults().is_empty());
        let spilling = Resources { spill_store_bytes: 16, spill_load_bytes: 20, ..Default::default() };
        assert_eq!(line(spilling, &[]).faults(), ["a_653 on sm_90: 36 bytes of registers spilled"]);
        let local = Resources { stack_bytes: 224, ..Default::default() };
        assert_eq!(line(local, &[("LDL", 2), ("STL", 1)]).faults().len(), 2);
        assert_eq!(line(Resources::default(), &[("CALL", 1), ("MUFU", 1)]).faults().len(), 2);
    }

    #[test]
    fn prints_a_row_a_kernel() {
        let text =
            table(&[line(Resources { registers: 40, ..Default::default() }, &[("IMAD", 9), ("S2R", 2)])]);
        let cells = |row: usize| {
            text.lines().nth(row).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let row: BTreeMap<_, _> = cells(0).into_iter().zip(cells(1)).collect();
        assert_eq!([&row["kernel"], &row["registers"], &row["all"]], ["a_653", "40", "11"]);
        assert_eq!([&row["IMAD"], &row["other"]], ["9", "2"]);
    }
}
