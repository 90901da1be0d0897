//! Key files, put together byte by byte.

/// Returns an element of DER: the tag, the length, and the concatenation of the parts.
#[must_use]
pub fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = match content.len() {
        length @ ..0x80 => vec![length as u8],
        length @ ..0x100 => vec![0x81, length as u8],
        length => vec![0x82, (length >> 8) as u8, length as u8],
    };
    [&[tag], &length[..], &content].concat()
}

/// Returns a placeholder for an object identifier: 1.3.6.1.4.1.32473.`branch`.`set`.
#[must_use]
pub fn placeholder(branch: u8, set: u8) -> Vec<u8> {
    let arc = [0x2b, 6, 1, 4, 1, 0x81, 0xfd, 0x59];
    element(6, &[&arc, &[branch, set]])
}

/// Returns a SubjectPublicKeyInfo. `oid` is an element, `parameters` an element or nothing.
#[must_use]
pub fn public_key(oid: &[u8], parameters: &[u8], key: &[u8]) -> Vec<u8> {
    let algorithm = element(0x30, &[oid, parameters]);
    element(0x30, &[&algorithm, &element(3, &[&[0], key])])
}

/// Returns a private key of PKCS#8. `oid` is an element, `parameters` an element or nothing, `key`
/// the content of the octet string, and `rest` what follows it.
#[must_use]
pub fn private_key(version: u8, oid: &[u8], parameters: &[u8], key: &[u8], rest: &[u8]) -> Vec<u8> {
    let version = element(2, &[&[version]]);
    let algorithm = element(0x30, &[oid, parameters]);
    element(0x30, &[&version, &algorithm, &element(4, &[key]), rest])
}

/// Calls `refused` with documents that are like the private key with `seed`, but not ours. The
/// text says what is wrong.
pub fn wrong_private_keys(oid: &[u8], seed: &[u8], mut refused: impl FnMut(&[u8], &str)) {
    let key = element(0x80, &[seed]);
    let right = private_key(0, oid, &[], &key, &[]);
    let with_key = |key: &[u8]| private_key(0, oid, &[], key, &[]);
    let null = element(5, &[]);
    let attributes = element(0xa0, &[]);
    let public = element(0x81, &[&[0], seed]);
    refused(&private_key(0, oid, &null, &key, &[]), "parameters");
    refused(&private_key(0, oid, &[], &key, &attributes), "no attributes");
    let attribute = element(0x30, &[oid, &element(0x31, &[&null])]);
    refused(&private_key(0, oid, &[], &key, &element(0xa0, &[&attribute])), "an attribute");
    refused(&private_key(1, oid, &[], &key, &public), "a public key");
    refused(&private_key(1, oid, &[], &key, &[]), "version 2 without a public key");
    refused(&private_key(2, oid, &[], &key, &[]), "version 3");
    refused(&private_key(0, oid, &[], &key, &element(0xa2, &[&null])), "an extension");
    refused(&with_key(seed), "a seed without a tag");
    refused(&with_key(&element(4, &[seed])), "an expanded key");
    refused(&with_key(&element(0xa0, &[&element(4, &[seed])])), "an explicit tag");
    refused(&with_key(&element(0x81, &[seed])), "another tag");
    let both = element(0x30, &[&element(4, &[seed]), &element(4, &[seed])]);
    refused(&with_key(&both), "both forms");
    refused(&with_key(&[&key[..], &[0]].concat()), "a byte after the seed");
    refused(&with_key(&element(0x80, &[&seed[1..]])), "a short seed");
    refused(&with_key(&element(0x80, &[seed, &[0]])), "a long seed");
    refused(&with_key(&[&[0x80, 0x81, seed.len() as u8], seed].concat()), "a length not in DER");
    refused(&[&right[..], &[0]].concat(), "a byte after the document");
    for length in 0..right.len() {
        refused(&right[..length], "the end cut off");
    }
    let prefix = right.len() - seed.len();
    for bit in 0..8 * prefix {
        let mut flipped = right.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        refused(&flipped, "a flipped bit");
    }
}

/// Calls `refused` with documents that are like the public key, but not ours. The text says what
/// is wrong.
pub fn wrong_public_keys(oid: &[u8], key: &[u8], mut refused: impl FnMut(&[u8], &str)) {
    let right = public_key(oid, &[], key);
    refused(&public_key(oid, &element(5, &[]), key), "parameters");
    refused(&public_key(oid, &[], &key[1..]), "a short key");
    refused(&public_key(oid, &[], &[key, &[0]].concat()), "a long key");
    refused(&public_key(oid, &[], &vec![0xff; key.len()]), "bytes that are no key");
    refused(&[&right[..], &[0]].concat(), "a byte after the document");
    for length in 0..right.len() {
        refused(&right[..length], "the end cut off");
    }
    let prefix = right.len() - key.len();
    for bit in 0..8 * prefix {
        let mut flipped = right.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        refused(&flipped, "a flipped bit");
    }
}
