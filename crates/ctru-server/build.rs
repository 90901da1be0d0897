//! Generates the messages, the client and the server from `proto/kem.proto`, without protoc.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use protox::prost::Message;

/// The messages whose fields can be secret, such as keys and the names of loaded keys. They get no
/// derived `Debug`. Each `oneof` with keys is a type of its own.
const SECRET: [&str; 13] = [
    "GenerateKeysResponse",
    "SealKeysRequest",
    "SealKeysResponse",
    "LoadKeysRequest",
    "LoadKeysRequest.keys",
    "LoadKeysResponse",
    "UnloadKeysRequest",
    "EncapsulateRequest",
    "EncapsulateRequest.key",
    "EncapsulateResponse",
    "DecapsulateRequest",
    "DecapsulateRequest.key",
    "DecapsulateResponse",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto/kem.proto");
    let descriptors = protox::compile(["kem.proto"], ["proto"])?;
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(folder.join("kem.bin"), descriptors.encode_to_vec())?;
    let secret = SECRET.map(|message| format!("ctru.v1.{message}"));
    tonic_prost_build::configure().bytes(".").skip_debug(secret).compile_fds(descriptors)?;
    Ok(())
}
