//! The records of response files (`.rsp`), which the submission of NTRU Prime has.

use ctru_kem::{
    Ciphertext, DecapsulationKey, ParameterSet, Parameters, Scheme, Set, SharedSecret,
    with_parameters,
};

use super::drbg::Drbg;
use super::{Checked, Wrong, bytes, difference, invalid};
use crate::transcript::Bytes;

/// The fields of a record, in their order.
const FIELDS: [&str; 5] = ["seed", "pk", "sk", "ct", "ss"];

/// Reads the lines of a response file.
#[derive(Default)]
pub(super) struct Reader {
    set: Option<Set>,
    record: Option<Response>,
}

/// A record. Byte strings are hexadecimal.
pub(super) struct Response {
    set: Option<Set>,
    /// The number of the line with `count`.
    line: usize,
    fields: [Option<String>; FIELDS.len()],
}

/// What a line is.
pub(super) enum Taken {
    /// No line of a response file.
    Other,
    /// Part of a record that is not complete.
    Part,
    /// The last line of a record, or the first one after a record that lacks fields.
    Whole(Response),
}

impl Reader {
    /// Takes a line.
    pub(super) fn take(&mut self, line: &[u8], number: usize) -> Taken {
        let Ok(line) = std::str::from_utf8(line) else { return Taken::Other };
        if let Some(title) = line.strip_prefix('#') {
            let name = title.trim().trim_start_matches("kem/");
            self.set = name.parse().ok().or(self.set);
            return Taken::Part;
        }
        let Some((name, value)) = line.split_once('=') else { return Taken::Other };
        let (name, value) = (name.trim(), value.trim());
        if name == "count" {
            let fields = Default::default();
            let before = self.record.replace(Response { set: self.set, line: number, fields });
            // One that lacks fields is wrong.
            return before.map_or(Taken::Part, Taken::Whole);
        }
        let index = FIELDS.iter().position(|field| *field == name);
        let (Some(record), Some(index)) = (&mut self.record, index) else { return Taken::Other };
        record.fields[index] = Some(value.to_owned());
        if record.fields.iter().all(Option::is_some) {
            self.record.take().map_or(Taken::Part, Taken::Whole)
        } else {
            Taken::Part
        }
    }

    /// Returns the record that the file ends in the middle of, if it does.
    pub(super) fn unfinished(&mut self) -> Option<Response> {
        self.record.take()
    }
}

impl Response {
    /// Computes the record again.
    ///
    /// The words of a polynomial are one request each, as in the submission, or all words are one
    /// request, as in PQClean and liboqs.
    pub(super) fn check(&self) -> Checked {
        (self.line, self.wrong())
    }

    /// Returns what differs.
    fn wrong(&self) -> Vec<Wrong> {
        let set = self.set.filter(|set| set.scheme() == Scheme::NtruPrime);
        let Some(set) = set else {
            return vec![(None, "no line before the record names a set of NTRU Prime".to_owned())];
        };
        let parameters = Parameters::from(set);
        let mut values = Vec::new();
        for (name, hex) in FIELDS.into_iter().zip(&self.fields) {
            match bytes(name, hex.as_deref().unwrap_or_default()) {
                Ok(value) => values.push(value),
                Err(wrong) => return vec![wrong],
            }
        }
        let [seed, pk, sk, ct, ss] = &values[..] else { unreachable!("as many as fields") };
        let Ok(seed) = seed.as_slice().try_into() else {
            return vec![(Some("seed"), format!("expected 48 bytes, got {}", seed.len()))];
        };
        let differences = |request: usize| -> Vec<Wrong> {
            let mut drbg = Drbg::new(seed, request);
            let [public, key, sent, secret] =
                with_parameters!(parameters, P => operate::<P>(&mut drbg));
            let made: [(&str, &[u8], Bytes); 4] =
                [("pk", pk, public), ("sk", sk, key), ("ct", ct, sent), ("ss", ss, secret)];
            let made = made.into_iter();
            made.filter_map(|(name, expected, actual)| {
                Some((Some(name), difference(expected, &actual)?))
            })
            .collect()
        };
        let mut wrong = differences(4);
        if !wrong.is_empty() && differences(usize::MAX).is_empty() {
            wrong.clear();
        }
        if wrong.is_empty() {
            match with_parameters!(parameters, P => decapsulate::<P>(sk, ct)) {
                Ok(secret) => wrong.extend(
                    difference(ss, secret.as_ref())
                        .map(|text| (Some("ss"), format!("Decaps: {text}"))),
                ),
                Err(error) => wrong.push(error),
            }
        }
        wrong
    }
}

/// Generates a key pair and encapsulates to it. Returns the public key, the private key, the
/// ciphertext and the shared secret.
fn operate<P: ParameterSet>(drbg: &mut Drbg) -> [Bytes; 4] {
    let key = DecapsulationKey::<P>::generate_from_rng(drbg);
    let public = key.encapsulation_key();
    let (sent, secret) = public.encapsulate_with_rng(drbg);
    [public.as_bytes(), key.as_bytes(), sent.as_bytes(), secret.as_bytes()]
        .map(|value: &[u8]| Bytes::new(value.to_vec()))
}

fn decapsulate<P: ParameterSet>(sk: &[u8], ct: &[u8]) -> Result<SharedSecret, Wrong> {
    let key = DecapsulationKey::<P>::from_bytes(sk).map_err(|error| invalid("sk", error))?;
    let ciphertext = Ciphertext::from_bytes(ct).map_err(|error| invalid("ct", error))?;
    Ok(key.decapsulate(&ciphertext))
}
