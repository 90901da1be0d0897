//! Which vector instructions the CPU's arithmetic and hashing use.

use ctru_math::backend::{self, Backend};

use crate::error::Error;

/// The choice of a backend, for every command.
#[derive(Clone, Debug, clap::Args)]
pub struct BackendArgs {
    /// Vector instructions of the CPU: portable, neon, sse2, avx2 or avx512 [default: the widest that it has]
    #[arg(long, global = true, value_name = "NAME", env = "CTRU_BACKEND", hide_env_values = true)]
    backend: Option<Backend>,
}

impl BackendArgs {
    /// Puts the chosen backend in use.
    ///
    /// # Errors
    /// [`Error::Backend`] if this CPU cannot run it.
    pub fn select(&self) -> Result<(), Error> {
        self.backend.map_or(Ok(()), |backend| Ok(backend::select(backend)?))
    }
}
