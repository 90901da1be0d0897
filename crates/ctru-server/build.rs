//! Generates the messages, the client and the server from `proto/kem.proto`, without protoc.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use protox::prost::Message;

/// The messages whose fields can be secret, such as keys and the names of loaded keys. They get no
/// derived `Debug`.
const SECRET: [&str; 10] = [
    "GenerateKeysResponse",
    "SealKeysRequest",
    "SealKeysResponse",
    "LoadKeysRequest",
    "LoadKeysResponse",
    "UnloadKeysRequest",
    "EncapsulateRequest",
    "EncapsulateResponse",
    "DecapsulateRequest",
    "DecapsulateResponse",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto/kem.proto");
    let descriptors = protox::compile(["kem.proto"], ["proto"])?;
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(folder.join("kem.bin"), descriptors.encode_to_vec())?;
    let mut secret: Vec<String> =
        SECRET.iter().map(|message| format!("ctru.v1.{message}")).collect();
    // Each `oneof` with keys is a type of its own.
    secret.extend([
        "ctru.v1.LoadKeysRequest.keys".into(),
        "ctru.v1.EncapsulateRequest.key".into(),
        "ctru.v1.DecapsulateRequest.key".into(),
    ]);
    tonic_prost_build::configure().bytes(".").skip_debug(secret).compile_fds(descriptors)?;
    Ok(())
}
