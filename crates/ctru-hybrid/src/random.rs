//! The functions that generate a key, or one side of an exchange, from random bytes.

/// Implements these functions for a type. `$bytes` is the number of bytes that its function
/// `generate_deterministic` takes.
macro_rules! from_random_bytes {
    ([$($generics:tt)*] $name:ty, $bytes:literal) => {
        impl<$($generics)*> $name {
            #[doc = concat!("Generates a value from ", $bytes, " bytes of `rng`.")]
            #[must_use]
            pub fn generate_from_rng<G: CryptoRng + ?Sized>(rng: &mut G) -> Self {
                let Ok(made) = Self::try_generate_from_rng(rng);
                made
            }

            #[doc = concat!("Generates a value from ", $bytes, " bytes of a generator that can")]
            /// fail.
            ///
            /// # Errors
            /// The error of the generator.
            pub fn try_generate_from_rng<G: TryCryptoRng + ?Sized>(
                rng: &mut G,
            ) -> Result<Self, G::Error> {
                let mut bytes = Zeroizing::new([0; $bytes]);
                rng.try_fill_bytes(&mut *bytes)?;
                Ok(Self::generate_deterministic(&bytes))
            }

            /// Generates a value with the operating system's randomness.
            ///
            /// # Errors
            /// [`getrandom::Error`] if the system provides no randomness.
            #[cfg(feature = "getrandom")]
            pub fn try_generate() -> Result<Self, getrandom::Error> {
                Self::try_generate_from_rng(&mut getrandom::SysRng)
            }
        }
    };
}
