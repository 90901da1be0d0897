//! A bucket of tokens: the operations that a client may still do.

use std::time::{Duration, Instant};

use crate::fault::Fault;

/// The operations of a client.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Bucket {
    tokens: f64,
    /// When the bucket had these tokens, or when it gets the next ones.
    since: Instant,
    /// Tokens per second.
    rate: f64,
    /// The most tokens.
    full: f64,
}

impl Bucket {
    /// Returns a bucket that gets `rate` tokens a second and holds at most `full`, which is no
    /// less. It begins with the tokens of the first second.
    pub(crate) fn new(rate: f64, full: f64, now: Instant) -> Self {
        Self { tokens: rate, since: now + Duration::from_secs(1), rate, full }
    }

    /// Returns whether the bucket has as much as a new one at the time `now`.
    pub(crate) fn is_as_new(&self, now: Instant) -> bool {
        self.at(now).tokens >= self.rate
    }

    /// Returns the bucket at a later time.
    fn at(self, now: Instant) -> Self {
        let waited = now.saturating_duration_since(self.since).as_secs_f64();
        let tokens = (self.tokens + waited * self.rate).min(self.full);
        Self { tokens, since: self.since.max(now), ..self }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// At any time, a client has done no more than the rate allows since it began.
    #[test]
    fn the_rate_holds_from_the_first_second() {
        let start = Instant::now();
        let mut bucket = Bucket::new(10.0, 5000.0, start);
        let mut done = 0;
        for step in 0..10_000 {
            let now = start + Duration::from_millis(step);
            done += u32::from(bucket.spend(1, now).is_ok());
            assert!(done <= 10.max((step / 100) as u32), "{done} operations in {step} ms");
        }
        assert_eq!(done, 99);
        // A message that is larger than the rate comes when the client has waited for it.
        let mut bucket = Bucket::new(10.0, 5000.0, start);
        assert!(bucket.spend(4000, start).is_err());
        assert!(bucket.spend(4000, start + Duration::from_secs(399)).is_err());
        assert!(bucket.spend(4000, start + Duration::from_secs(400)).is_ok());
        assert!(bucket.spend(1, start + Duration::from_secs(400)).is_err());
        // However long it waits, it saves up no more than one message.
        let mut bucket = Bucket::new(10.0, 50.0, start);
        let later = start + Duration::from_secs(3600);
        assert!(bucket.spend(51, later).is_err() && bucket.spend(50, later).is_ok());
    }
}
