//! What a device engine lets its user choose.

/// How much of a device an engine takes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// Operations of a chunk at the most. Kernels compute the place of an operation's row in 32
    /// bits, so an engine takes no more than 3 million for n = 653, 2.6 million for n = 761 and 1.5
    /// million for n = 1277, however large this is.
    pub chunk: usize,
    /// Chunks in flight on each device, each with memory of its own and a thread of the host.
    pub slots: usize,
    /// Bytes of memory that the slots may take on each device. Loaded keys come on top.
    pub memory_limit: usize,
    /// How to multiply.
    pub products: Products,
}

impl Default for DeviceOptions {
    /// 16 slots of 8192 operations, at most 2 GiB; products on tensor cores, which on an H200 are faster at every batch size.
    fn default() -> Self {
        Self { chunk: 8192, slots: 16, memory_limit: 2 << 30, products: Products::Polyphase }
    }
}

/// How an engine multiplies polynomials.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Products {
    /// The incomplete NTT on CUDA cores, with kernels of their own for sampling, rounding and coding.
    Ntt,
    /// Matrix products on tensor cores, with everything between coins and ciphertext in one kernel.
    Polyphase,
    /// As [`Polyphase`](Self::Polyphase), but where one key serves all operations, its full matrix times all of them.
    SameKey,
}
