//! A bucket of tokens: the operations that a client may still do.

use std::time::Instant;

use crate::fault::Fault;

/// The operations of a client.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Bucket {
    tokens: f64,
    since: Instant,
    /// Tokens per second.
    rate: f64,
    /// The most tokens.
    full: f64,
}

impl Bucket {
    /// Returns a bucket that gets `rate` tokens a second and has the `full` tokens that it holds.
    pub(crate) fn full(rate: f64, full: f64, now: Instant) -> Self {
        Self { tokens: full, since: now, rate, full }
    }

    /// Returns whether the bucket holds all that it can at the time `now`.
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        self.at(now).tokens >= self.full
    }

    /// Returns the bucket at a later time.
    fn at(self, now: Instant) -> Self {
        let waited = now.saturating_duration_since(self.since).as_secs_f64();
        Self { tokens: (self.tokens + waited * self.rate).min(self.full), since: now, ..self }
    }

    /// Takes `count` operations at the time `now`, or one for a call that asks for none.
    ///
    /// # Errors
    /// [`Fault::QuotaSpent`] if there are too few; then nothing is taken.
    pub(crate) fn spend(&mut self, count: usize, now: Instant) -> Result<(), Fault> {
        *self = self.at(now);
        let count = count.max(1) as f64;
        if self.tokens < count {
            return Err(Fault::QuotaSpent);
        }
        self.tokens -= count;
        Ok(())
    }

    /// Gives back what a call has taken. The next call takes away what is too much.
    pub(crate) fn give_back(&mut self, count: usize) {
        self.tokens += count.max(1) as f64;
    }
}
