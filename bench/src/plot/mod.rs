//! `ctru-bench plot`.
/// Draw
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}
pub(crate) fn run(_: &Args) -> Result<(), crate::error::Error> {
    Ok(())
}
