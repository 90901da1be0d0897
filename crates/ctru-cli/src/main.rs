//! The program `ctru`. Its code is a library, because cargo compiles a library while it makes the
//! machine code of the crates below, which a program waits for.

use std::process::ExitCode;

fn main() -> ExitCode {
    ctru_cli::main()
}
