//! Finds and runs NVIDIA's assembler and disassembler, which come with the CUDA toolkit or as
//! packages from PyPI.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::{fs, io};

use crate::syntax;

/// The version of the assembler with which the checks were developed. They know the machine code
/// that it writes.
pub const PTXAS_VERSION: &str = "13.0.88";
/// The version of the disassembler with which the checks were developed. They know the form of its
/// listings.
pub const NVDISASM_VERSION: &str = "13.5.37";

/// The result of running a program.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why there is no machine code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program of the CUDA toolkit is missing.
    #[error(
        "{program} is missing: set {variable}, put it on the PATH, or install it with\n  \
         pip install nvidia-cuda-nvcc=={PTXAS_VERSION} nvidia-cuda-nvdisasm=={NVDISASM_VERSION}"
    )]
    Missing {
        /// The program.
        program: &'static str,
        /// The environment variable that can name it.
        variable: &'static str,
    },
    /// A program could not be started.
    #[error("cannot start {program}")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// A program failed.
    #[error("{command}: {status}\n{output}")]
    Failed {
        /// The command line.
        command: String,
        /// Its exit status.
        status: ExitStatus,
        /// Its output and its error messages.
        output: String,
    },
    /// The text is not PTX.
    #[error(transparent)]
    Syntax(#[from] syntax::Error),
    /// No file could be written for a program.
    #[error("cannot write a temporary file")]
    Temporary(#[from] io::Error),
}

/// The architectures whose machine code the checks know: A100, GeForce 30, GeForce 40, H100, B200
/// and GeForce 50.
pub const ARCHITECTURES: &[&str] = &["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];

/// A program of the CUDA toolkit.
#[derive(Copy, Clone, Debug)]
pub struct Tool {
    name: &'static str,
    variable: &'static str,
    /// Its possible folders below Python's `site-packages`.
    folders: &'static [&'static str],
}

impl Tool {
    /// The assembler.
    pub const PTXAS: Self = Self {
        name: "ptxas",
        variable: "PTXAS",
        folders: &["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"],
    };
    /// The disassembler.
    pub const NVDISASM: Self = Self {
        name: "nvdisasm",
        variable: "NVDISASM",
        folders: &["nvidia/cu13/bin", "nvidia/cuda_nvdisasm/bin", "nvidia/cuda_nvcc/bin"],
    };

    /// Returns the path of the tool: the value of its environment variable, or else the first
    /// program of its name that runs. The search covers the folders of `PATH`, of CUDA toolkits and
    /// of Python packages.
    ///
    /// # Errors
    /// [`Error::Missing`] if no such program runs.
    pub fn find(self) -> Result<PathBuf> {
        if let Some(path) = std::env::var_os(self.variable).filter(|path| !path.is_empty()) {
            return Ok(path.into());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let toolkits =
            ["CUDA_PATH", "CUDA_HOME"].iter().filter_map(std::env::var_os).map(PathBuf::from);
        let toolkits =
            toolkits.chain(["/usr/local/cuda".into()]).map(|toolkit| toolkit.join("bin"));
        std::env::split_paths(&path)
            .chain(toolkits)
            .chain(
                site_packages()
                    .iter()
                    .flat_map(|site| self.folders.iter().map(|folder| site.join(folder))),
            )
            .map(|folder| folder.join(self.name))
            .find(|program| is_program(program))
            .ok_or(Error::Missing { program: self.name, variable: self.variable })
    }
}

/// The output of the assembler and the disassembler for some kernels.
#[derive(Clone, Debug)]
pub struct MachineCode {
    /// The report of the assembler (`ptxas -v`).
    pub said: String,
    /// The instructions, with live ranges of registers.
    pub listing: String,
    /// The instructions, with lines of the source. Empty if the caller did not ask for lines.
    pub lines: String,
}

/// Assembles PTX for an architecture and disassembles the machine code. With `with_lines`, the
/// result also tells the source line of each instruction.
///
/// # Errors
/// If one of the tools fails.
pub fn machine_code(
    ptxas: &Path,
    nvdisasm: &Path,
    ptx: &str,
    arch: &str,
    with_lines: bool,
) -> Result<MachineCode> {
    let folder = tempfile::tempdir()?;
    let (source, cubin) = (folder.path().join("kernels.ptx"), folder.path().join("kernels.cubin"));
    fs::write(&source, ptx)?;
    let mut assemble = Command::new(ptxas);
    assemble.args(["-v", &format!("-arch={arch}")]).arg(&source).arg("-o").arg(&cubin);
    if with_lines {
        assemble.arg("-lineinfo");
    }
    let said = output(&mut assemble)?;
    let said = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
    let disassemble =
        |options: &[&str]| text(Command::new(nvdisasm).arg("-c").args(options).arg(&cubin));
    let listing = disassemble(&["-plr", "-lrm", "narrow"])?;
    // One run of the disassembler prints either live ranges or lines, not both.
    let lines = if with_lines { disassemble(&["--print-line-info"])? } else { String::new() };
    Ok(MachineCode { said, listing, lines })
}

/// Assembles the PTX in a file for an architecture.
///
/// # Errors
/// If the assembler fails.
pub fn assemble(ptxas: &Path, ptx: &Path, arch: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let cubin = folder.path().join("kernels.cubin");
    output(Command::new(ptxas).arg(format!("-arch={arch}")).arg(ptx).arg("-o").arg(cubin)).map(drop)
}

fn is_program(path: &Path) -> bool {
    // A package for another platform has the file, but the file does not run.
    path.is_file() && output(Command::new(path).arg("--version")).is_ok()
}

/// Returns the folders of Python's packages, or an empty list if there is no Python.
fn site_packages() -> Vec<PathBuf> {
    let print = "import site, sysconfig
sites = [*site.getsitepackages(), site.getusersitepackages()]
print(*sites, sysconfig.get_path('purelib'), sep='\\n')";
    let text = text(Command::new("python3").args(["-c", print])).unwrap_or_default();
    text.lines().map(PathBuf::from).collect()
}

/// Runs a command to its end and returns its output.
///
/// # Errors
/// [`Error::Failed`] if its exit status is not 0.
pub fn output(command: &mut Command) -> Result<Output> {
    let output = command.output().map_err(|source| Error::Start {
        program: command.get_program().to_string_lossy().into(),
        source,
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat();
    Err(Error::Failed { command: line(command), status: output.status, output: text })
}

/// Runs a command and returns the text of its standard output.
///
/// # Errors
/// [`Error::Failed`] if its exit status is not 0.
pub fn text(command: &mut Command) -> Result<String> {
    // Listings are large, and nearly always take the first way, which is faster.
    Ok(String::from_utf8(output(command)?.stdout)
        .unwrap_or_else(|invalid| String::from_utf8_lossy(invalid.as_bytes()).into_owned()))
}

/// Returns the command as one line for messages.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
