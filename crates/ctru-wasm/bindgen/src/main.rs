//! Makes the JavaScript that loads a WebAssembly module, and the module as this JavaScript needs
//! it.
//!
//! ```text
//! ctru-wasm-bindgen MODULE NAME FOLDER
//! ```
//!
//! Writes `NAME.js` and `NAME_bg.wasm` to `FOLDER`. The program `wasm-bindgen` does the same, and
//! takes four times as many packages to build.

use std::env;
use std::error::Error;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [module, name, folder] = &arguments[..] else {
        return Err("usage: ctru-wasm-bindgen MODULE NAME FOLDER".into());
    };
    Bindgen::new()
        .input_path(module)
        .out_name(name)
        .web(true)?
        .typescript(false)
        // The package replaces an instance that has failed.
        .reset_state_function(true)
        .generate(folder)?;
    Ok(())
}
