//! Parameter sets in messages. The number of a set in `kem.proto` is [`Set::number`].

use ctru_kem::{Encoding, Parameters, Set};

use crate::fault::Fault;
use crate::proto;

/// Returns the number of an encoding in `kem.proto`.
fn encoding_number(encoding: Encoding) -> proto::PublicKeyEncoding {
    match encoding {
        Encoding::MixedRadix => proto::PublicKeyEncoding::MixedRadix,
        Encoding::Packed13 => proto::PublicKeyEncoding::Packed13,
    }
}

/// Reads the scheme of a request.
///
/// # Errors
/// [`Fault::Invalid`] if the set or the encoding is unknown, or if there is no set.
pub(crate) fn read(scheme: Option<proto::Scheme>) -> Result<Parameters, Fault> {
    use proto::{ParameterSet, PublicKeyEncoding};
    let proto::Scheme { set, encoding } = scheme.unwrap_or_default();
    let set = match ParameterSet::try_from(set) {
        Ok(ParameterSet::Unspecified) => {
            return Err(Fault::invalid("scheme.set", None, "there is no parameter set"));
        }
        Ok(number) => {
            let known =
                Set::ALL.iter().copied().find(|set| i32::from(set.number()) == number as i32);
            known.ok_or_else(|| {
                let reason = format!("this server does not compute {}", number.as_str_name());
                Fault::invalid("scheme.set", None, reason)
            })?
        }
        Err(_) => {
            let reason = format!("there is no parameter set with number {set}");
            return Err(Fault::invalid("scheme.set", None, reason));
        }
    };
    let encoding = match PublicKeyEncoding::try_from(encoding) {
        Ok(PublicKeyEncoding::Unspecified | PublicKeyEncoding::MixedRadix) => Encoding::MixedRadix,
        Ok(PublicKeyEncoding::Packed13) => Encoding::Packed13,
        Err(_) => {
            let reason = format!("there is no encoding with number {encoding}");
            return Err(Fault::invalid("scheme.encoding", None, reason));
        }
    };
    Parameters::new(set, encoding)
        .map_err(|error| Fault::invalid("scheme.encoding", None, error.to_string()))
}

impl From<Parameters> for proto::Scheme {
    fn from(parameters: Parameters) -> Self {
        let encoding = encoding_number(parameters.encoding()).into();
        Self { set: parameters.set().number().into(), encoding }
    }
}

/// Returns the numbers of the set and of the encoding in `kem.proto`.
pub(crate) fn numbers(scheme: Parameters) -> [u8; 2] {
    [scheme.set().number(), encoding_number(scheme.encoding()) as u8]
}

/// Returns the most decapsulations that a private key should do, if that number can be reached:
/// docs/security.md says why. For CTRU-Prime-761 it is 2^64, which would take a GPU ten thousand
/// years.
pub(crate) fn max_decapsulations(scheme: Parameters) -> Option<u64> {
    match scheme.set() {
        Set::CtruPrime1277 => Some(1 << 40),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ctru_kem::Scheme;

    use super::*;

    #[test]
    fn every_scheme_is_read_as_it_is_written() {
        for &scheme in Parameters::ALL {
            let message = proto::Scheme::from(scheme);
            let name = proto::ParameterSet::try_from(message.set).unwrap().as_str_name();
            let expected = match scheme.set().scheme() {
                Scheme::CtruPrime => format!("PARAMETER_SET_CTRU_PRIME_{}", scheme.set().id()),
                _ => format!("PARAMETER_SET_{}", scheme.set().id().to_uppercase()),
            };
            assert_eq!(name, expected);
            assert_eq!(read(Some(message)).unwrap(), scheme);
        }
    }

    #[test]
    fn unknown_schemes_are_refused() {
        let read = |set, encoding| {
            read(Some(proto::Scheme { set, encoding })).map_err(|fault| match fault {
                Fault::Invalid { field, .. } => field,
                _ => panic!("{fault}"),
            })
        };
        assert!(super::read(None).is_err());
        for set in [0, 4, -1] {
            assert_eq!(read(set, 1), Err("scheme.set"));
        }
        // NTRU Prime has one encoding, for which 0 and 1 stand.
        assert_eq!(read(12, 0).unwrap(), read(12, 1).unwrap());
        assert!(read(10, 1).is_err() && read(17, 1).is_err());
        for (set, encoding) in [(12, 2), (12, 3), (2, 3), (2, -1)] {
            assert_eq!(read(set, encoding), Err("scheme.encoding"));
        }
        assert_eq!(read(2, 0).unwrap(), read(2, 1).unwrap());
    }
}
