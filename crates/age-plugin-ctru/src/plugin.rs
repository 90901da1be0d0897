//! The two sides of the plugin's protocol: wrapping and unwrapping file keys.

use std::collections::{HashMap, HashSet};
use std::io;

use age_core::format::{FileKey, Stanza};
use age_plugin::identity::{self, IdentityPluginV1};
use age_plugin::recipient::{self, RecipientPluginV1};
use age_plugin::{Callbacks, PluginHandler};

use crate::keys::{Identity, Recipient};

/// The name of the plugin in recipients and identities.
pub(crate) const NAME: &str = "ctru";

/// Says that file keys are safe from quantum computers, so that clients do not encrypt them to
/// other recipients that are not.
const LABEL: &str = "postquantum";

/// Starts the sides of the protocol.
pub(crate) struct Ctru;

impl PluginHandler for Ctru {
    type RecipientV1 = Recipients;
    type IdentityV1 = Identities;

    fn recipient_v1(self) -> io::Result<Recipients> {
        Ok(Recipients(Vec::new()))
    }

    fn identity_v1(self) -> io::Result<Identities> {
        Ok(Identities(Vec::new()))
    }
}

/// The recipients of files that are encrypted.
pub(crate) struct Recipients(Vec<Recipient>);

impl RecipientPluginV1 for Recipients {
    fn add_recipient(
        &mut self,
        index: usize,
        plugin_name: &str,
        bytes: &[u8],
    ) -> Result<(), recipient::Error> {
        let fault = |message| recipient::Error::Recipient { index, message };
        if plugin_name != NAME {
            return Err(fault(format!("a recipient of another plugin, {plugin_name}")));
        }
        self.0.push(Recipient::from_bytes(bytes).map_err(|invalid| fault(invalid.to_string()))?);
        Ok(())
    }

    fn add_identity(
        &mut self,
        index: usize,
        plugin_name: &str,
        bytes: &[u8],
    ) -> Result<(), recipient::Error> {
        let fault = |message| recipient::Error::Identity { index, message };
        if plugin_name != NAME {
            return Err(fault(format!("an identity of another plugin, {plugin_name}")));
        }
        let identity = Identity::from_bytes(bytes).map_err(|invalid| fault(invalid.to_string()))?;
        self.0.push(identity.recipient());
        Ok(())
    }

    fn labels(&mut self) -> HashSet<String> {
        HashSet::from([LABEL.into()])
    }

    fn wrap_file_keys(
        &mut self,
        file_keys: Vec<FileKey>,
        _: impl Callbacks<recipient::Error>,
    ) -> io::Result<Result<Vec<Vec<Stanza>>, Vec<recipient::Error>>> {
        let for_all = |key: &FileKey| self.0.iter().map(|recipient| recipient.wrap(key)).collect();
        let wrapped: Result<_, String> = file_keys.iter().map(for_all).collect();
        Ok(wrapped.map_err(|message| vec![recipient::Error::Internal { message }]))
    }
}

/// The identities that decrypt files.
pub(crate) struct Identities(Vec<Identity>);

impl IdentityPluginV1 for Identities {
    fn add_identity(
        &mut self,
        index: usize,
        plugin_name: &str,
        bytes: &[u8],
    ) -> Result<(), identity::Error> {
        let fault = |message| identity::Error::Identity { index, message };
        if plugin_name != NAME {
            return Err(fault(format!("an identity of another plugin, {plugin_name}")));
        }
        self.0.push(Identity::from_bytes(bytes).map_err(|invalid| fault(invalid.to_string()))?);
        Ok(())
    }

    fn unwrap_file_keys(
        &mut self,
        files: Vec<Vec<Stanza>>,
        _: impl Callbacks<identity::Error>,
    ) -> io::Result<HashMap<usize, Result<FileKey, Vec<identity::Error>>>> {
        let files = files.iter().enumerate();
        Ok(files.filter_map(|(index, file)| Some((index, self.file_key(index, file)?))).collect())
    }
}

impl Identities {
    /// Returns the file key of a file, or its damaged stanzas, or `None` if it is for others. One
    /// damaged stanza of a known set makes the file invalid, as age wants it.
    fn file_key(
        &self,
        file_index: usize,
        stanzas: &[Stanza],
    ) -> Option<Result<FileKey, Vec<identity::Error>>> {
        let mut faults = Vec::new();
        let mut found = None;
        for (stanza_index, stanza) in stanzas.iter().enumerate() {
            for identity in &self.0 {
                match identity.unwrap(stanza) {
                    Ok(None) => {}
                    Ok(Some(key)) => found = found.or(Some(key)),
                    Err(invalid) => {
                        let message = invalid.to_string();
                        faults.push(identity::Error::Stanza { file_index, stanza_index, message });
                        break;
                    }
                }
            }
        }
        if faults.is_empty() { found.map(Ok) } else { Some(Err(faults)) }
    }
}

#[cfg(test)]
mod tests {
    use age_core::secrecy::ExposeSecret;

    use ctru_hybrid::Set;

    use super::*;
    use crate::keys::STANZA;

    #[test]
    fn only_damaged_stanzas_make_a_file_invalid() {
        let file_key = FileKey::new(Box::new(*b"a key for a file"));
        let identities = Identities(vec![Identity::generate(Set::ALL[0]).unwrap()]);
        let ours = || identities.0[0].recipient().wrap(&file_key).unwrap();
        let later = || Stanza { tag: STANZA.into(), args: vec!["2048".into()], body: vec![1; 40] };
        for file in [[ours(), later()], [later(), ours()]] {
            let found = identities.file_key(0, &file).unwrap().ok().unwrap();
            assert_eq!(found.expose_secret(), file_key.expose_secret());
        }
        assert!(identities.file_key(0, &[later()]).is_none());
        // A damaged stanza of a set that is known, but not that of the identity.
        let damaged = Stanza { args: vec!["761".into()], ..later() };
        let Some(Err(faults)) = identities.file_key(0, &[ours(), damaged]) else {
            panic!("the file is damaged")
        };
        assert!(matches!(faults[..], [identity::Error::Stanza { stanza_index: 1, .. }]));
    }
}
