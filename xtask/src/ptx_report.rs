//! Reports the machine code of the kernels, as NVIDIA's assembler writes it: registers, memory and
//! instructions. Checks it for forbidden resources and for leaks of secrets.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use comfy_table::{CellAlignment, Table, presets};
use ptx_check::plant::{self, Plan};
use ptx_check::sass::{decode, entries, programs};
use ptx_check::tools::{
    self, ARCHITECTURES, MachineCode, NVDISASM_VERSION, PTXAS_VERSION, Tool, machine_code,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::sass::{Resources, instructions, resources};
use crate::{Error, IoContext, Result, declared, families, ptx, workspace};

/// The architecture for which kernels with planted leaks are assembled.
const PLANTED: &str = "sm_90";

/// The classes of instructions that have a column of their own in the table.
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

/// Shows the machine code of the kernels: registers, spills, shared memory and instructions
///
/// Fails if a kernel spills registers, uses local memory, calls a function, divides integers, or
/// leaks a secret (see ptx-flow). The table counts the instructions of the program, so an
/// instruction in a loop counts once.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Architectures for which NVIDIA's assembler translates the PTX
    #[arg(long, value_delimiter = ',', default_values = ARCHITECTURES)]
    arch: Vec<String>,
    /// Report only kernels whose name contains this text
    #[arg(long, default_value = "")]
    kernel: String,
    /// Report the kernels of this PTX instead of the committed one
    #[arg(long, value_name = "FILE")]
    ptx: Option<PathBuf>,
    /// Print no table
    #[arg(long)]
    summary: bool,
    /// Also plant leaks of all kinds into the kernels, and fail if the analysis misses one of them
    /// in the machine code for sm_90
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "1")]
    plant: Option<u64>,
    /// Plant leaks only in kernels whose name contains one of these texts
    #[arg(
        long,
        value_name = "TEXT",
        value_delimiter = ',',
        default_value = "",
        requires = "plant"
    )]
    plant_in: Vec<String>,
    /// Also write all counts to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A kernel on an architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The architecture.
    pub arch: String,
    /// The name of the entry point.
    pub kernel: String,
    /// The shape of its blocks, if the kernel is one of this workspace.
    pub block: Option<Block>,
    /// The resources that the assembler reports.
    #[serde(flatten)]
    pub resources: Resources,
    /// The number of instructions of each class.
    pub instructions: BTreeMap<String, u32>,
}

/// The shape of a kernel's blocks, from its descriptor.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Threads per block.
    pub threads: u32,
    /// Operations per block.
    pub per_block: u32,
    /// Bytes of shared memory per block.
    pub shared_bytes: u32,
}

/// Runs the job.
pub fn run(options: &Options) -> Result<()> {
    let (ptxas, nvdisasm) = (Tool::PTXAS.find()?, Tool::NVDISASM.find()?);
    let path = options.ptx.clone().map_or_else(families::saved, Ok)?;
    // Only the table and the file show the shapes of blocks.
    let is_shown = !options.summary || options.json.is_some();
    let blocks = if is_shown { blocks()? } else { BTreeMap::new() };
    let text = fs::read_to_string(&path).at("read", &path)?;
    let module = ptx::parse(&text)?;
    let mut faults: Vec<_> = ptx::faults(&module).iter().map(ToString::to_string).collect();

    for (tool, version) in [(&ptxas, PTXAS_VERSION), (&nvdisasm, NVDISASM_VERSION)] {
        let said = tools::text(Command::new(tool).arg("--version"))?;
        let is_known = said.contains(&format!("V{version}"));
        let remark =
            if is_known { "" } else { ", but the checks were developed with another version" };
        println!(
            "{}: {}{remark}",
            tool.display(),
            said.lines().find(|line| line.contains(", V")).unwrap_or(&said)
        );
    }
    let entries = entries(&module);
    let mut kernels = ptx::entries(&module);
    kernels.retain(|kernel| kernel.contains(&options.kernel));
    let look = |arch: &String| -> Result<(Vec<Line>, Result<String>)> {
        let MachineCode { said, listing, .. } =
            machine_code(&ptxas, &nvdisasm, &text, arch, false)?;
        let (resources, mut instructions) = (resources(&said), instructions(&listing));
        let mut lines = Vec::new();
        for kernel in kernels.iter().copied() {
            let missing = |program| {
                let what = format!("the output of {program} says nothing about");
                Error::Faults { what, faults: vec![kernel.into()] }
            };
            lines.push(Line {
                arch: arch.clone(),
                kernel: kernel.into(),
                block: blocks.get(kernel).copied(),
                resources: *resources.get(kernel).ok_or_else(|| missing("ptxas"))?,
                instructions: instructions.remove(kernel).ok_or_else(|| missing("nvdisasm"))?,
            });
        }
        Ok((lines, declared::check(decode(&listing, &entries, arch))))
    };
    let looks: Vec<_> = options.arch.par_iter().map(look).collect();
    let mut lines = Vec::new();
    for (arch, look) in options.arch.iter().zip(looks) {
        let (of_arch, verdict) = look?;
        lines.extend(of_arch);
        match verdict {
            Ok(verdict) => println!("{arch}: {verdict}"),
            Err(error) => faults.push(format!("{arch}: {error}")),
        }
    }
    if !options.summary {
        print!("{}", table(&lines));
    }
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&lines)
            .map_err(|source| Error::Json { what: path.display().to_string(), source })?;
        fs::write(path, text + "\n").at("write", path)?;
    }
    faults.extend(lines.iter().flat_map(Line::faults));
    Error::unless_none("the machine code of kernels breaks rules", faults)?;
    let Some(seed) = options.plant else { return Ok(()) };
    // More copies of kernels in one text would make its listing too large.
    const COPIES: usize = 100;
    let decode = |text: &str| programs(&ptxas, &nvdisasm, text, PLANTED);
    let takes = |name: &str| {
        let is_named = options.plant_in.iter().any(|text| name.contains(text));
        is_named && name.contains(&options.kernel) && declared::is_strict(name)
    };
    let plan = Plan { takes: &takes, seed, most: 1 };
    declared::judge(plant::search(&text, &module, plan, COPIES, decode)?, seed, &[])
}

/// Returns the shapes of all kernels' blocks. A separate program prints them, so that this one can
/// be built even if the kernels cannot.
fn blocks() -> Result<BTreeMap<String, Block>> {
    let mut example = workspace::cargo();
    example.current_dir(workspace::root());
    example.args(["run", "--quiet", "--package", "ctru-gpu-kernels", "--example", "kernels"]);
    serde_json::from_str(&tools::text(&mut example)?)
        .map_err(|source| Error::Json { what: "what the example kernels prints".into(), source })
}

impl Line {
    /// Returns the forbidden resources that this kernel uses.
    fn faults(&self) -> Vec<String> {
        let count = |classes: &[&str]| {
            classes.iter().filter_map(|&class| self.instructions.get(class)).sum()
        };
        let r = &self.resources;
        let used = [
            ("bytes of registers spilled", r.spill_store_bytes + r.spill_load_bytes),
            ("bytes of local memory", r.stack_bytes),
            ("accesses to local memory", count(&["LDL", "STL"])),
            ("calls", count(&["CALL"])),
            // The assembler translates an integer division to a floating-point reciprocal.
            ("reciprocals, as for integer division", count(&["MUFU"])),
        ];
        // Calls and reciprocals are the last two entries. Kernels that measure divisions may
        // have them.
        let checked = if ptx::divides(&self.kernel) { used.len() - 2 } else { used.len() };
        used[..checked]
            .iter()
            .filter(|&&(_, count)| count > 0)
            .map(|&(what, count)| format!("{} on {}: {count} {what}", self.kernel, self.arch))
            .collect()
    }
}

/// Formats the table.
fn table(lines: &[Line]) -> String {
    let headings = ["kernel", "arch", "threads", "shared", "registers", "stack", "spills", "all"];
    let headings = headings.iter().chain(COLUMNS).chain(&["other"]);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings);
    for line in lines {
        let of_block = |field: fn(Block) -> u32| {
            line.block.map_or("?".into(), |block| field(block).to_string())
        };
        let count = |class: &&str| line.instructions.get(*class).copied().unwrap_or_default();
        let all = line.instructions.values().sum::<u32>();
        let r = line.resources;
        let of_code = [r.registers, r.stack_bytes, r.spill_store_bytes + r.spill_load_bytes, all];
        let other = all - COLUMNS.iter().map(count).sum::<u32>();
        let counts = of_code.into_iter().chain(COLUMNS.iter().map(count)).chain([other]);
        let block = [of_block(|b| b.threads), of_block(|b| b.shared_bytes)];
        let names = [line.kernel.clone(), line.arch.clone()];
        table.add_row(names.into_iter().chain(block).chain(counts.map(|count| count.to_string())));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(resources: Resources, classes: &[(&str, u32)]) -> Line {
        let instructions =
            classes.iter().map(|&(class, count)| (class.to_owned(), count)).collect();
        Line { arch: "sm_90".into(), kernel: "a_653".into(), block: None, resources, instructions }
    }

    #[test]
    fn finds_bad_kernels() {
        assert!(
            line(Resources { registers: 255, ..Default::default() }, &[("IMAD", 9)])
                .faults()
                .is_empty()
        );
        let spilling =
            Resources { spill_store_bytes: 16, spill_load_bytes: 20, ..Default::default() };
        assert_eq!(line(spilling, &[]).faults(), ["a_653 on sm_90: 36 bytes of registers spilled"]);
        let local = Resources { stack_bytes: 224, ..Default::default() };
        assert_eq!(line(local, &[("LDL", 2), ("STL", 1)]).faults().len(), 2);
        assert_eq!(line(Resources::default(), &[("CALL", 1), ("MUFU", 1)]).faults().len(), 2);
    }

    #[test]
    fn prints_a_row_a_kernel() {
        let text = table(&[line(
            Resources { registers: 40, ..Default::default() },
            &[("IMAD", 9), ("S2R", 2)],
        )]);
        let cells = |row: usize| {
            text.lines().nth(row).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let row: BTreeMap<_, _> = cells(0).into_iter().zip(cells(1)).collect();
        assert_eq!([&row["kernel"], &row["registers"], &row["all"]], ["a_653", "40", "11"]);
        assert_eq!([&row["IMAD"], &row["other"]], ["9", "2"]);
    }
}
