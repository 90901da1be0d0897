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

    /// Returns the PTX.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({} bytes of PTX)", self.text.len())
    }
}
