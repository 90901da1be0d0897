//! The program `ctru`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ctru_cli::main()
}
