//! The parameter sets as values, for programs that choose one at run time.

use core::fmt;
use core::str::FromStr;

/// A parameter set of CTRU-Prime, each of which has a hybrid.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Set(ctru_kem::Set);

/// A parameter set has no hybrid, or there is no such set.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NoHybrid;

impl fmt::Display for NoHybrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no such hybrid; the sets are")?;
        Set::ALL.iter().try_for_each(|set| write!(f, " {}", set.id()))
    }
}

impl core::error::Error for NoHybrid {}

impl Set {
    /// All sets of hybrids.
    pub const ALL: &[Self] = &{
        let mut all = [Self(ctru_kem::Set::CTRU_PRIME[0]); ctru_kem::Set::CTRU_PRIME.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = Self(ctru_kem::Set::CTRU_PRIME[i]);
            i += 1;
        }
        all
    };

    /// Returns the set of CTRU-Prime.
    #[must_use]
    pub const fn of_ctru_prime(self) -> ctru_kem::Set {
        self.0
    }

    /// Returns the number of the set in messages and files. It never changes.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0.number()
    }

    /// Returns the name on command lines and in records, such as `761`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.0.id()
    }
}

impl FromStr for Set {
    type Err = NoHybrid;

    /// Returns the set with this [name](Self::id).
    fn from_str(id: &str) -> Result<Self, NoHybrid> {
        Self::ALL.iter().copied().find(|set| set.id() == id).ok_or(NoHybrid)
    }
}
