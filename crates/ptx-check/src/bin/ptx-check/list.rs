//! `ptx-check list`.

use std::path::PathBuf;

use ptx_check::syntax::{Function, Module, Variable};
use serde_json::{Value, json};

use crate::Error;

/// Lists kernels with their parameters, their shared memory and their directives
#[derive(clap::Args)]
pub(crate) struct List {
    /// The file with PTX
    file: PathBuf,
}

impl List {
    pub(crate) fn run(&self, as_json: bool) -> Result<u8, Error> {
        let text = crate::read_text(&self.file)?;
        let module = crate::parse(&self.file, &text)?;
        if as_json {
            let kernels: Vec<Value> =
                module.kernels().map(|kernel| described(&module, kernel)).collect();
            crate::tell(format_args!("{:#}", Value::Array(kernels)))?;
            return Ok(0);
        }
        for kernel in module.kernels() {
            let more =
                if module.has_open_shared(kernel) { " and what the launch gives" } else { "" };
            crate::tell(format_args!("{}", kernel.name))?;
            crate::tell(format_args!(
                "  shared memory: {} bytes{more}",
                module.shared_bytes(kernel)
            ))?;
            for directive in &kernel.directives {
                crate::tell(format_args!("  {directive}"))?;
            }
            for parameter in &kernel.parameters {
                crate::tell(format_args!("  {}: {}", parameter.name, shown(parameter)))?;
            }
        }
        Ok(0)
    }
}

fn described(module: &Module<'_>, kernel: &Function<'_>) -> Value {
    let parameter = |parameter: &Variable<'_>| {
        json!({
            "name": parameter.name,
            "type": parameter.kind.to_string(),
            "elements": parameter.length,
            "align": parameter.align,
            "is_pointer": parameter.is_pointer,
        })
    };
    json!({
        "kernel": kernel.name,
        "line": kernel.at.line,
        "parameters": kernel.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "shared_bytes": module.shared_bytes(kernel),
        "takes_more_shared": module.has_open_shared(kernel),
        "directives": kernel.directives,
    })
}

fn shown(parameter: &Variable<'_>) -> String {
    let Variable { kind, length, align, is_pointer, .. } = parameter;
    match length {
        Some(1) if *is_pointer => format!("{kind}, a pointer"),
        Some(1) => kind.to_string(),
        Some(count) => format!("{count} x {kind}, aligned to {align} bytes"),
        None => format!("{kind} of open length"),
    }
}
