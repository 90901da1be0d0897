//! A client of age on the library of `rage`, with which the tests start the plugin.
//!
//! `age_client encrypt FROM TO RECIPIENT...` or `age_client decrypt FROM TO IDENTITY...`, where
//! recipients and identities are texts, not files.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::iter;

use age::plugin::{IdentityPluginV1, RecipientPluginV1};
use age::{Decryptor, Encryptor, NoCallbacks};

const PLUGIN: &str = "ctru";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [command, from, to, keys @ ..] = &arguments[..] else {
        return Err("usage: age_client encrypt|decrypt FROM TO KEY...".into());
    };
    match &command[..] {
        "encrypt" => {
            let recipients: Vec<_> =
                keys.iter().map(|key| key.parse()).collect::<Result<_, _>>()?;
            let plugin = RecipientPluginV1::new(PLUGIN, &recipients, &[], NoCallbacks)?;
            let encryptor = Encryptor::with_recipients(iter::once(&plugin as _))?;
            let mut output = Vec::new();
            let mut writer = encryptor.wrap_output(&mut output)?;
            io::copy(&mut File::open(from)?, &mut writer)?;
            writer.finish()?;
            fs::write(to, output)?;
        }
        "decrypt" => {
            let identities: Vec<_> =
                keys.iter().map(|key| key.parse()).collect::<Result<_, _>>()?;
            let plugin = IdentityPluginV1::new(PLUGIN, &identities, NoCallbacks)?;
            let decryptor = Decryptor::new_buffered(BufReader::new(File::open(from)?))?;
            let mut reader = decryptor.decrypt(iter::once(&plugin as _))?;
            let mut output = Vec::new();
            io::copy(&mut reader, &mut output)?;
            fs::write(to, output)?;
        }
        _ => return Err("neither encrypt nor decrypt".into()),
    }
    Ok(())
}
