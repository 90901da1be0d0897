//! Leaks that are planted into kernels on purpose, to see that they are found.
//!
//! This module knows nothing of the analysis. To it a kernel is lines of text, and secret is what has
//! been loaded from an array that the kernel takes. It takes a site at random, brings a secret there,
//! on the way through arithmetic, memory, another thread or a matrix product, and lets the site
//! depend on it.

pub mod ptx;

/// A kernel with a leak.
#[derive(Clone, Debug)]
pub struct Planted {
    /// The class of the leak.
    pub class: &'static str,
    /// How the secret comes there.
    pub carrier: &'static str,
    /// The kernel that it was planted into.
    pub kernel: String,
    /// A text with this kernel alone.
    pub text: String,
    /// The same with a public number in place of the secret, which leaks nothing.
    pub clean: String,
    /// The lines of the leak itself in `text`, from 1.
    pub lines: std::ops::RangeInclusive<usize>,
}
