//! `ptx-check flow`.

use std::path::{Path, PathBuf};

use ptx_check::flow::analysis::{Finding, Secrets, analyse, paragraphs};
use ptx_check::flow::program::{self, NotUnderstood, Objects, Program};
use ptx_check::flow::ptx::decode_kernel;
use ptx_check::sass;
use ptx_check::syntax::Module;
use ptx_check::tools::Tool;
use serde_json::{Value, json};

use crate::Error;

/// Follows secrets through kernels
///
/// Reports each address, branch, guard, lane of a shuffle, barrier and division that depends on a
/// secret. Exit status: 0 without a finding, 1 with findings, 2 if a text or an instruction is not
/// understood.
#[derive(clap::Args)]
pub(crate) struct Flow {
    /// The files with PTX
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A parameter that is secret: what the array holds if it is a pointer, which `.ptr` or `cvta`
    /// tells, or else its value.
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

/// What the search found in a kernel.
struct Found {
    status: u8,
    text: String,
    json: Value,
}

impl Flow {
    /// Checks all files and prints what it finds. Returns the exit status.
    pub(crate) fn run(&self, as_json: bool) -> Result<u8, Error> {
        let (mut status, mut kernels) = (0, Vec::new());
        let mut unknown: Vec<&String> = self.secrets.iter().collect();
        for path in &self.files {
            let text = crate::read_text(path)?;
            let module = crate::parse(path, &text)?;
            unknown.retain(|name| {
                !module.kernels().any(|k| k.parameters.iter().any(|p| p.name == **name))
            });
            for program in self.programs(&text, &module)? {
                if let Some(found) = self.check(path, &module, program)? {
                    if !as_json {
                        crate::tell(format_args!("{}", found.text))?;
                    }
                    kernels.push(found.json);
                    status = status.max(found.status);
                }
            }
        }
        match unknown.first() {
            Some(name) => return Err(Error::NoParameter((*name).clone())),
            None if kernels.is_empty() => return Err(Error::NoKernel),
            None => {}
        }
        if as_json {
            crate::tell(format_args!("{:#}", Value::Array(kernels)))?;
        }
        Ok(status)
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

    /// Checks a kernel. Returns `None` if the kernel was not asked for.
    fn check(
        &self,
        path: &Path,
        module: &Module<'_>,
        program: Result<Program, NotUnderstood>,
    ) -> Result<Option<Found>, Error> {
        let name = program::name(&program);
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
        let file = path.display().to_string();
        let program = match program {
            Ok(program) => program,
            Err(refused) => {
                let NotUnderstood { kernel, place, text } = &refused;
                return Ok(Some(Found {
                    status: 2,
                    text: format!("{file}: {refused}"),
                    json: json!({
                        "file": file, "kernel": kernel,
                        "not_understood": { "place": place, "text": text },
                    }),
                }));
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
        let (found, name) = (report.findings.len(), &program.name);
        let head =
            format!("{file}: {name}: {} instructions, findings: {found}", report.instructions);
        let json = json!({
            "file": file, "kernel": name, "instructions": report.instructions,
            "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        });
        let text = paragraphs(report.findings)
            .fold(head, |text, paragraph| format!("{text}\n  {paragraph}"));
        Ok(Some(Found { status: u8::from(found > 0), text, json }))
    }
}

fn finding(finding: &Finding) -> Value {
    let Finding { kernel: _, class, place, instruction, source, chain } = finding;
    json!({
        "class": class.to_string(), "place": place, "text": instruction, "source": source,
        "chain": chain,
    })
}
