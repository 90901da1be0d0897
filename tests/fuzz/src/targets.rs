//! What is called with mutated inputs.

mod bytes;
mod files;
mod ntruprime;
mod operations;
mod plain;
mod program;

/// Something that takes bytes from outside.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Calls it. Panics if something is wrong.
    pub(crate) run: fn(&[u8]),
    /// Returns inputs to begin with.
    pub(crate) begin: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub(crate) const ALL: &[Target] = &[
    Target { name: "bytes", run: bytes::read, begin: bytes::examples },
    Target { name: "rows", run: bytes::read_rows, begin: bytes::row_examples },
    Target { name: "serde", run: files::read_serde, begin: files::serde_examples },
    Target { name: "files", run: files::read_files, begin: files::file_examples },
    Target { name: "program", run: program::read, begin: program::examples },
    Target { name: "backends", run: operations::on_backends, begin: operations::examples },
    Target { name: "ciphertexts", run: operations::decapsulate, begin: operations::ciphertexts },
    Target { name: "keys", run: operations::check_keys, begin: operations::examples },
    Target { name: "sntrup-encaps", run: ntruprime::encapsulate, begin: ntruprime::public_keys },
    Target { name: "sntrup-decaps", run: ntruprime::decapsulate, begin: ntruprime::private_keys },
    Target { name: "emulator", run: operations::on_emulator, begin: operations::examples },
];

/// A target with a fault, which is not among [`ALL`]: it shows that faults are found.
pub(crate) const PLANTED: Target = Target {
    name: "planted",
    run: |input| {
        let mut rest = input.iter();
        for (place, expected) in b"ctru!".iter().enumerate() {
            // Each place is an edge of its own, as in a parser.
            match (place, rest.next() == Some(expected)) {
                (0, true) => std::hint::black_box(10),
                (1, true) => std::hint::black_box(11),
                (2, true) => std::hint::black_box(12),
                (3, true) => std::hint::black_box(13),
                (4, true) => panic!("the planted fault"),
                _ => return,
            };
        }
    },
    begin: || vec![vec![0; 8]],
};

/// Calls `$visit::<P>($argument)` for each parameter set with each encoding, and collects what it
/// returns.
macro_rules! for_each_set {
    ($visit:ident($($argument:expr),*)) => {{
        use ctru_kem::{
            CtruPrime653, CtruPrime761, CtruPrime1277, MixedRadix, Packed13, Sntrup653, Sntrup761,
            Sntrup857, Sntrup953, Sntrup1013, Sntrup1277,
        };
        [
            $visit::<CtruPrime653<MixedRadix>>($($argument),*),
            $visit::<CtruPrime653<Packed13>>($($argument),*),
            $visit::<CtruPrime761<MixedRadix>>($($argument),*),
            $visit::<CtruPrime761<Packed13>>($($argument),*),
            $visit::<CtruPrime1277<MixedRadix>>($($argument),*),
            $visit::<CtruPrime1277<Packed13>>($($argument),*),
            $visit::<Sntrup653>($($argument),*),
            $visit::<Sntrup761>($($argument),*),
            $visit::<Sntrup857>($($argument),*),
            $visit::<Sntrup953>($($argument),*),
            $visit::<Sntrup1013>($($argument),*),
            $visit::<Sntrup1277>($($argument),*),
        ]
    }};
}
use for_each_set;

/// Calls `$visit` for each hybrid set in the same way.
macro_rules! for_each_hybrid {
    ($visit:ident($($argument:expr),*)) => {{
        use ctru_hybrid::X25519CtruPrime;
        use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277};
        [
            $visit::<X25519CtruPrime<CtruPrime653>>($($argument),*),
            $visit::<X25519CtruPrime<CtruPrime761>>($($argument),*),
            $visit::<X25519CtruPrime<CtruPrime1277>>($($argument),*),
        ]
    }};
}
use for_each_hybrid;
