//! PTX with kernels. `cargo xtask build-ptx` builds such texts, and the NVIDIA driver compiles them
//! for the GPU of the machine.

use core::fmt;
#[cfg(feature = "text")]
use std::sync::OnceLock;

/// A PTX text with kernels.
///
/// A device is opened with one module and runs only the kernels of that module, see
/// [`Kernel::is_of`](crate::descriptor::Kernel::is_of). Any text makes a module, because the
/// kernels' descriptors, and not the text, declare which arrays an entry point takes.
pub struct Module {
    /// The beginning of the text, or all of it.
    head: &'static str,
    /// What follows, compressed.
    rest: &'static [u8],
    /// The whole text, once it was unpacked.
    #[cfg(feature = "text")]
    text: OnceLock<String>,
}

impl Module {
    /// Creates a module with this PTX.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self::with_deflated(text, &[])
    }

    /// Creates a module with a PTX of which all but the beginning is compressed, as a DEFLATE
    /// stream (RFC 1951). The beginning says for which architecture the PTX is. No bytes stand for
    /// no text.
    #[must_use]
    pub const fn with_deflated(head: &'static str, rest: &'static [u8]) -> Self {
        Self {
            head,
            rest,
            #[cfg(feature = "text")]
            text: OnceLock::new(),
        }
    }

    /// Returns how many bytes of shared memory a block may have on the GPUs for which the text is
    /// compiled, or the most that any GPU has if the text does not say for which.
    pub(crate) const fn most_shared_bytes(&self) -> u32 {
        // While kernels are compiled, the text may be that of other kernels.
        let text = match option_env!("CTRU_PTX_TARGET") {
            Some(target) if cfg!(target_arch = "nvptx64") => target,
            _ => self.head,
        };
        1024 * most_shared_kib(architecture(text))
    }

    /// Returns the PTX. The first call unpacks it.
    ///
    /// # Panics
    /// If the bytes of [`with_deflated`](Self::with_deflated) are not a compressed text.
    #[cfg(feature = "text")]
    #[must_use]
    pub fn text(&self) -> &str {
        if self.rest.is_empty() {
            return self.head;
        }
        self.text.get_or_init(|| {
            let rest = miniz_oxide::inflate::decompress_to_vec(self.rest);
            let rest = String::from_utf8(rest.expect("a DEFLATE stream"));
            [self.head, &rest.expect("a text")].concat()
        })
    }
}

/// Returns the number of the architecture in the line `.target sm_NUMBER` of PTX, or 0 if the text
/// does not begin with such a line and a few others.
const fn architecture(text: &str) -> u32 {
    const NAME: &[u8] = b".target sm_";
    let text = text.as_bytes();
    let (mut place, mut known) = (0, 0);
    while known < NAME.len() {
        if place == text.len() || place == 4096 {
            return 0;
        }
        // The first character of the name is nowhere else in it.
        known = match text[place] {
            byte if byte == NAME[known] => known + 1,
            b'.' => 1,
            _ => 0,
        };
        place += 1;
    }
    let mut number: u32 = 0;
    while place < text.len() && text[place].is_ascii_digit() {
        number = number.saturating_mul(10).saturating_add((text[place] - b'0') as u32);
        place += 1;
    }
    number
}

/// Returns how many KiB of shared memory a block may have on GPUs of an architecture, or the most
/// that any GPU has if the architecture is not known here.
///
/// Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", "Maximum
/// amount of shared memory per thread block".
const fn most_shared_kib(architecture: u32) -> u32 {
    match architecture {
        70 | 72 => 96,
        75 => 64,
        80 | 87 => 163,
        86 | 89 | 120 | 121 => 99,
        _ => 227,
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({} bytes)", self.head.len() + self.rest.len())
    }
}
