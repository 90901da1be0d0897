//! The seeds of batches (specification, section 11).

use crate::encodings::Encoding;
use crate::hashes::shake256;
use crate::parameters::Parameters;

/// The operations that take a seed.
#[derive(Copy, Clone)]
pub(crate) enum Operation<'a> {
    KeyGen,
    /// An encapsulation to a key with this `ID(pk)`.
    Encaps(&'a [u8]),
}

impl Operation<'_> {
    /// Returns the name in `seeds.jsonl`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KeyGen => "keygen",
            Self::Encaps(_) => "encaps",
        }
    }

    /// Returns the field `id`.
    pub(crate) fn id(&self) -> &[u8] {
        match self {
            Self::KeyGen => &[0; 33],
            Self::Encaps(id) => id,
        }
    }
}

/// Returns the seed of the operation with this row.
pub(crate) fn batch_seed(
    operation: Operation<'_>,
    p: &Parameters,
    encoding: Encoding,
    context: &[u8],
    master: &[u8],
    row: u64,
) -> Vec<u8> {
    let (op, bytes) = match operation {
        Operation::KeyGen => (1, 64),
        Operation::Encaps(_) => (2, 32),
    };
    let encoding = match encoding {
        Encoding::MixedRadix => 1,
        Encoding::Packed13 => 2,
    };
    let mut input = b"ctru expand".to_vec();
    input.push(op);
    input.extend((p.n as u16).to_le_bytes());
    input.extend([encoding, context.len() as u8]);
    input.extend(context);
    input.resize(48, 0);
    input.extend(master);
    input.extend(row.to_le_bytes());
    input.extend(operation.id());
    assert_eq!(input.len(), 121);
    shake256(&input, bytes)
}

#[test]
fn examples() {
    let master: [u8; 32] = std::array::from_fn(|k| k as u8);
    let p = Parameters::of_degree(761);
    let seed =
        |operation, row| batch_seed(operation, p, Encoding::MixedRadix, b"example", &master, row);
    let key_pairs = [
        (
            0,
            "8c3ee0fc8a31decd1f3f00c4dbad49fdcaa4d649eb14ffa6a5f5677b7dd875d7",
            "8be6ae0714543086fba54a4c834d5a52cec380be7659dfc0563f79b2733eb300",
        ),
        (
            1,
            "c357953dea9602693c92a642d503d0365a28f96eae8d67ec83adaa406743b8f3",
            "d05720fa70a818a2e4c3f3b5bae753864ed7a232cad6e246468d6485384634cb",
        ),
        (
            u64::MAX,
            "7a1eba0983b760674b6dd3adc86522d77e9c233a5dfe9a9cf0ffbba96d200549",
            "c6949e6fb28ff28d1eac7814725b4dcc510990329a2f140f710897c4d13deadf",
        ),
    ];
    for (row, first, z) in key_pairs {
        let x = seed(Operation::KeyGen, row);
        assert_eq!([const_hex::encode(&x[..32]), const_hex::encode(&x[32..])], [first, z]);
    }
    let id: [u8; 33] = std::array::from_fn(|k| 100 + k as u8);
    let encapsulations = [
        (0, "e320d07fc6c19e7c592d95d96c881fbfb8371562131f5f5efec59a4e7ab06f44"),
        (1, "1a569c927d774666408fe7bff121e82530954831c3d16b878b824bbcd5764f74"),
        (u64::MAX, "75e0a962d8730e0cdf49ee046a6bc47f2ee34df2c5e6b32314fd35b78b147bd7"),
    ];
    for (row, expected) in encapsulations {
        assert_eq!(const_hex::encode(seed(Operation::Encaps(&id), row)), expected);
    }
}
