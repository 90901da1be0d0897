//! PTX with kernels. `cargo xtask build-ptx` builds such texts, and the NVIDIA driver compiles them
//! for the GPU of the machine.

use core::fmt;

/// A PTX text with kernels.
///
/// A device is opened with one module and runs only the kernels of that module, see
/// [`Kernel::is_of`](crate::descriptor::Kernel::is_of). Any text makes a module, because the
/// kernels' descriptors, and not the text, declare which arrays an entry point takes.
pub struct Module {
    text: &'static str,
}

impl Module {
    /// Creates a module with this PTX.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self { text }
    }

    /// Returns how many bytes of shared memory a block may have on the GPUs for which the text is
    /// compiled, or the most that any GPU has if the text does not say for which.
    pub(crate) const fn most_shared_bytes(&self) -> u32 {
        // While kernels are compiled, the text may be that of other kernels.
        let text = match option_env!("CTRU_PTX_TARGET") {
            Some(target) if cfg!(target_arch = "nvptx64") => target,
            _ => self.text,
        };
        1024 * most_shared_kib(architecture(text))
    }

    /// Returns the PTX.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
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
        write!(f, "Module({} bytes of PTX)", self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_says_how_much_shared_memory_there_is() {
        let kib = |text| Module::new(text).most_shared_bytes() / 1024;
        assert_eq!(kib("// sm_75\n.version 7.0\n.target sm_80\n.address_size 64\n"), 163);
        assert_eq!(kib(".version 7.1\n.target sm_86"), 99);
        assert_eq!(kib("..target sm_90a, debug\n"), 227);
        assert_eq!(kib(".target sm_8"), 227);
        assert_eq!(kib(".target sm_99999999999"), 227);
        for nothing in ["", ".target", ".version 7.0\n.target "] {
            assert_eq!(kib(nothing), 227);
        }
    }
}
