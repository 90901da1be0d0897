//! The choice of the CPU's vector instructions.

use std::ffi::OsString;

use ctru_math::backend;
use ctru_program::variable;

use crate::error::Error;

/// The option `--backend`, which every command accepts.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BackendArgs {
    /// Vector instructions of the CPU: portable, neon, sse2, avx2 or avx512 [default: the widest
    /// that the CPU has]
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = variable("CTRU_BACKEND"),
        hide_env_values = true
    )]
    // With another type, clap would refuse a bad variable even where the option is given, and would
    // not show a value that is not UTF-8.
    backend: Option<OsString>,
}

impl BackendArgs {
    /// Selects the chosen backend for the whole process.
    ///
    /// # Errors
    /// [`Error::UnknownBackend`] if there is none with this name, [`Error::Backend`] if this CPU
    /// does not have its instructions.
    pub(crate) fn select(&self) -> Result<(), Error> {
        let Some(name) = &self.backend else { return Ok(()) };
        let name = name.to_string_lossy();
        let unknown = |source| Error::UnknownBackend { name: name.to_string(), source };
        Ok(backend::select(name.parse().map_err(unknown)?)?)
    }
}
