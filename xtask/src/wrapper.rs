//! Compiles a crate for a GPU so that its path changes nothing, in place of the compiler.
//!
//! Cargo gives the compiler a hash of each package's path, or of its path relative to the
//! workspace, with `-C metadata`. The compiler hashes it into the names of functions, and LLVM
//! treats functions in the order of their names. So kernels that use a package outside their
//! workspace would be compiled to other PTX in another folder.

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

use crate::manifest::TARGET;
use crate::{IoContext, Result};

/// The variable that tells this program to stand in for the compiler.
const VARIABLE: &str = "CTRU_XTASK_IS_RUSTC";

/// Lets `cargo` call this program in place of the compiler.
pub(crate) fn install(cargo: &mut Command) -> Result<()> {
    let program = env::current_exe().at("find", "this program".as_ref())?;
    cargo.env("RUSTC_WRAPPER", program).env("RUSTC_WORKSPACE_WRAPPER", "").env(VARIABLE, "1");
    Ok(())
}

/// Calls the compiler, if this program stands in for it. Its path is the first argument.
#[must_use]
pub fn run() -> Option<ExitCode> {
    env::var_os(VARIABLE)?;
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments.iter().any(|argument| argument == TARGET) {
        // The name of the crate counts anyway. A package may be there in several versions.
        let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
        for argument in &mut arguments {
            if argument.to_string_lossy().starts_with("metadata=") {
                *argument = format!("metadata={version}").into();
            }
        }
    }
    let status = Command::new(arguments.first()?).args(&arguments[1..]).status();
    let code = status.ok().and_then(|status| u8::try_from(status.code()?).ok());
    Some(ExitCode::from(code.unwrap_or(1)))
}
