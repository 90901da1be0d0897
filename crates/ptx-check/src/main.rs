//! The program `ptx-check`.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::{Parser, Subcommand};
use ptx_check::flow::analysis::{Secrets, analyse, paragraphs};
use ptx_check::flow::program::{NotUnderstood, Objects, Program};
use ptx_check::flow::ptx::decode_kernel;
use ptx_check::sass;
use ptx_check::syntax::{self, Module};
use ptx_check::tools::{self, Tool};

/// Checks compiled GPU kernels without a GPU
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    Flow(Flow),
}

/// Follows secrets through kernels
///
/// Reports each address, branch, guard, lane of a shuffle, barrier and division that depends on a
/// secret. Exit status: 0 without a finding, 1 with findings, 2 if a text or an instruction is not
/// understood.
#[derive(clap::Args)]
struct Flow {
    /// The files with PTX
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A parameter that is secret: what the array holds if it is a pointer, or else its value.
    /// Without this option, what every array holds is secret, and so is memory that the kernel has
    /// not written
    #[arg(long = "secret", value_name = "PARAMETER")]
    secrets: Vec<String>,
    /// Look only at kernels whose names contain this text
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    kernel: String,
    /// Look at the machine code for this architecture, such as sm_90. This needs NVIDIA's ptxas and
    /// nvdisasm
    #[arg(long, value_name = "ARCHITECTURE")]
    arch: Option<String>,
}

/// The reason why files could not be checked.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}:{fault}", path.display())]
    Syntax { path: PathBuf, fault: syntax::Error },
    #[error("no kernel has a parameter {0}")]
    NoParameter(String),
    #[error("{0} is no array; the value of a parameter is followed in PTX only")]
    Value(String),
    #[error("no kernel to check")]
    NoKernel,
    #[error(transparent)]
    Tools(#[from] tools::Error),
}

fn main() -> ExitCode {
    let Job::Flow(flow) = Arguments::parse().job;
    match flow.run() {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                eprintln!("because: {error}");
                cause = error.source();
            }
            ExitCode::from(2)
        }
    }
}

impl Flow {
    /// Checks all files and prints what it finds. Returns the exit status.
    fn run(&self) -> Result<u8, Error> {
        let (mut status, mut kernels) = (0, 0);
        let mut unknown: Vec<&String> = self.secrets.iter().collect();
        for path in &self.files {
            let at = |source| Error::Read { path: path.clone(), source };
            let text = fs::read_to_string(path).map_err(at)?;
            let at = |fault| Error::Syntax { path: path.clone(), fault };
            let module = syntax::parse(&text).map_err(at)?;
            unknown.retain(|name| {
                !module.kernels().any(|k| k.parameters.iter().any(|p| p.name == **name))
            });
            for program in self.programs(&text, &module)? {
                if let Some(found) = self.check(path, &module, program)? {
                    kernels += 1;
                    status = status.max(found);
                }
            }
        }
        match unknown.first() {
            Some(name) => Err(Error::NoParameter((*name).clone())),
            None if kernels == 0 => Err(Error::NoKernel),
            None => Ok(status),
        }
    }

    fn programs(
        &self,
        text: &str,
        module: &Module<'_>,
    ) -> Result<Vec<Result<Program, NotUnderstood>>, Error> {
        let Some(arch) = &self.arch else {
            return Ok(module.kernels().map(|kernel| decode_kernel(module, kernel)).collect());
        };
        Ok(sass::programs(&Tool::PTXAS.find()?, &Tool::NVDISASM.find()?, text, arch)?)
    }

    /// Checks a kernel. Returns the exit status, or `None` if the kernel was not asked for.
    fn check(
        &self,
        path: &Path,
        module: &Module<'_>,
        program: Result<Program, NotUnderstood>,
    ) -> Result<Option<u8>, Error> {
        let name = match &program {
            Ok(program) => &program.name,
            Err(refused) => &refused.kernel,
        };
        let parameters = module.kernels().find(|kernel| kernel.name == name).map(|k| &k.parameters);
        let secret = |(index, name): (usize, &str)| {
            let is_secret = self.secrets.iter().any(|secret| secret == name);
            (is_secret && index < Objects::MOST_ARRAYS).then(|| Objects::array(index))
        };
        let named = parameters.into_iter().flatten().map(|parameter| parameter.name).enumerate();
        let named = named.filter_map(secret).fold(Objects::NONE, |all, one| all | one);
        if !name.contains(&self.kernel) || !self.secrets.is_empty() && named.is_empty() {
            return Ok(None);
        }
        let program = match program {
            Ok(program) => program,
            Err(refused) => {
                println!("{}: {refused}", path.display());
                return Ok(Some(2));
            }
        };
        if self.arch.is_some() && !named.without(program.arrays).is_empty() {
            return Err(Error::Value(self.secrets.join(", ")));
        }
        let secrets = match self.secrets.is_empty() {
            true => Secrets::AllBut(Objects::NONE),
            false => Secrets::Only(named),
        };
        let report = analyse(&program, secrets);
        let found = report.findings.len();
        println!(
            "{}: {name}: {} instructions, findings: {found}",
            path.display(),
            report.instructions,
            name = program.name
        );
        paragraphs(report.findings).for_each(|paragraph| println!("  {paragraph}"));
        Ok(Some(u8::from(found > 0)))
    }
}
