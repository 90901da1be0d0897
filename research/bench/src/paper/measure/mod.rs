//! Makes the measurements of `ctru-research paper`.

#[cfg(feature = "cuda")]
mod ceilings;
mod cost;
mod counting;
#[cfg(feature = "cuda")]
mod cpu;
#[cfg(feature = "cuda")]
mod engine;
#[cfg(feature = "cuda")]
mod inversion;
#[cfg(feature = "cuda")]
mod kernels;
#[cfg(feature = "cuda")]
mod run;
#[cfg(feature = "cuda")]
mod session;

#[cfg(feature = "cuda")]
pub(super) use run::run;
#[cfg(feature = "cuda")]
pub(super) use session::Options;
