//! Descriptors of kernels. A descriptor contains everything that a GPU runtime or the emulator
//! needs to launch a kernel and to check the launch.

mod batch;
mod parameter;

use core::any::Any;
use core::ptr;

pub use batch::{Batch, GridError, Shape};
pub use parameter::{Extent, Parameter, Rows};

use crate::ptx::Module;
use crate::scalar::{MOST_SCALARS, Scalar, ScalarError, Value};

/// The largest number of blocks that a GPU runs in the first dimension of a grid.
///
/// Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
const MOST_BLOCKS: u32 = i32::MAX as u32;

/// A kernel: its entry point in the PTX, the shape of its blocks, and its arrays.
///
/// A launch whose arrays have been checked against the descriptor accesses no memory outside these
/// arrays. Soundness depends on this property. So only the unsafe function [`new`](Self::new)
/// creates kernels that a GPU runs, and the macros that call it.
#[derive(Debug)]
pub struct Kernel {
    module: &'static Module,
    name: &'static str,
    shape: Shape,
    parameters: &'static [Parameter],
    most_operations: u32,
    scalars: &'static [Scalar],
    /// The values of the scalars: none, or one for each scalar once [`Self::with`] or
    /// [`Self::fixed_to`] has set them.
    values: [Value; MOST_SCALARS],
    set: usize,
    is_fixed: bool,
    /// The numbers of blocks in the second and in the third dimension of the grid.
    planes: [u32; 2],
    substitute: Option<Substitute>,
}

/// The function that the emulator runs in place of the entry point. Its type is erased, so that
/// this module does not depend on the emulator.
pub(crate) type Substitute = &'static (dyn Any + Send + Sync);

impl Kernel {
    /// Describes the kernel whose entry point in `module` is `name`. The entry point takes one
    /// pointer per parameter and then the two numbers of [`Batch::arguments`].
    ///
    /// # Safety
    /// If `module` has an entry point of this name, this entry point takes these parameters. In a
    /// launch of [`blocks`](Self::blocks) blocks of this shape, for a batch of at most
    /// [`most_operations`](Self::most_operations) operations, it accesses only
    ///
    /// - the first [`elements`](Self::elements) of each array, no more bytes at once than the
    ///   array's [alignment](Parameter::alignment), and aligned if the array is,
    /// - its own registers, local memory and shared memory of this size,
    /// - variables of the module.
    ///
    /// If the shape permits [planes](Shape::in_planes), this holds for every grid. It holds for
    /// every content of the arrays, even if several arrays are the same memory, and even if other
    /// code writes to them at the same time.
    ///
    /// # Panics
    /// If a block has no threads, more than 1024 threads or no operations; if it has more shared
    /// memory than a block may have on the GPUs for which the module is compiled, or on any GPU if
    /// the module is empty; if the elements of a parameter do not have 1, 2, 4, 8 or 16 bytes; if
    /// the size of a group of elements is not a power of two; if a row belongs to no operation.
    #[allow(unsafe_code)]
    #[must_use]
    pub const unsafe fn new(
        module: &'static Module,
        name: &'static str,
        shape: Shape,
        parameters: &'static [Parameter],
    ) -> Self {
        assert!(
            shape.shared_bytes <= module.most_shared_bytes(),
            "a block has more shared memory than the module's target has: at most 163 KiB for \
             sm_80 and sm_87, 99 KiB for sm_86, sm_89 and sm_12x, 227 KiB for sm_90, sm_10x and \
             an empty module (package.metadata.ptx.arch chooses the target)"
        );
        Self::describe(module, name, shape, parameters)
    }

    /// Describes a kernel without an entry point. No GPU can run it.
    #[cfg_attr(not(feature = "emulator"), allow(dead_code))]
    pub(crate) const fn without_entry_point(
        name: &'static str,
        shape: Shape,
        parameters: &'static [Parameter],
    ) -> Self {
        static NO_MODULE: Module = Module::new("");
        Self::describe(&NO_MODULE, name, shape, parameters)
    }

    const fn describe(
        module: &'static Module,
        name: &'static str,
        shape: Shape,
        parameters: &'static [Parameter],
    ) -> Self {
        assert!(0 < shape.threads && shape.threads <= 1024, "a block must have 1 to 1024 threads");
        assert!(0 < shape.per_block, "a block must have at least one operation");
        let mut most_operations = MOST_BLOCKS.saturating_mul(shape.per_block);
        let mut i = 0;
        while i < parameters.len() {
            parameters[i].check();
            let most = parameters[i].most_operations(shape.per_block);
            if most < most_operations {
                most_operations = most;
            }
            i += 1;
        }
        Self {
            module,
            name,
            shape,
            parameters,
            most_operations,
            scalars: &[],
            values: [Value::ZERO; MOST_SCALARS],
            set: 0,
            is_fixed: false,
            planes: [1, 1],
            substitute: None,
        }
    }

    /// Returns the same kernel with an entry point that takes these scalars after the numbers of
    /// the batch.
    ///
    /// # Safety
    /// The entry point takes these scalars. The promise of [`new`](Self::new) holds for all their
    /// values, or for those to which [`fixed_to`](Self::fixed_to) binds the kernel before anything
    /// else uses it.
    ///
    /// # Panics
    /// If there are more than [`MOST_SCALARS`].
    #[allow(unsafe_code)]
    #[must_use]
    pub const unsafe fn taking(self, scalars: &'static [Scalar]) -> Self {
        assert!(scalars.len() <= MOST_SCALARS, "a kernel takes at most eight scalars");
        Self { scalars, ..self }
    }

    /// Returns the same kernel with these values of its scalars, for launches.
    ///
    /// # Errors
    /// [`ScalarError`] if the number or the types of the values are not those of the kernel's
    /// scalars, or if the kernel is bound to its values.
    pub fn with(&self, values: &[Value]) -> Result<Self, ScalarError> {
        self.fits(values)?;
        Ok(self.copy().set_to(values))
    }

    /// Returns the same kernel bound to these values of its scalars: launches take no others.
    ///
    /// # Panics
    /// If the number or the types of the values are not those of the kernel's scalars, or if the
    /// kernel is bound already.
    #[must_use]
    pub const fn fixed_to(self, values: &[Value]) -> Self {
        assert!(self.fits(values).is_ok(), "the kernel does not take these values of its scalars");
        Self { is_fixed: true, ..self.set_to(values) }
    }

    const fn set_to(mut self, values: &[Value]) -> Self {
        self.set = values.len();
        let mut i = 0;
        while i < values.len() {
            self.values[i] = values[i];
            i += 1;
        }
        self
    }

    const fn fits(&self, values: &[Value]) -> Result<(), ScalarError> {
        let (kernel, expected, actual) = (self.name, self.scalars.len(), values.len());
        if self.is_fixed {
            return Err(ScalarError::Fixed { kernel });
        }
        if expected != actual {
            return Err(ScalarError::Count { kernel, expected, actual });
        }
        let mut i = 0;
        while i < actual {
            let scalar = self.scalars[i].name();
            let (expected, actual) = (self.scalars[i].number_type(), values[i].number_type());
            if expected as u8 != actual as u8 {
                return Err(ScalarError::Type { kernel, scalar, expected, actual });
            }
            i += 1;
        }
        Ok(())
    }

    /// Returns the same kernel for launches in a grid with `y` blocks in its second and `z` blocks
    /// in its third dimension. The number of blocks in the first dimension follows from the batch.
    ///
    /// # Errors
    /// [`GridError`] if one of the numbers is 0 or more than 65535, or if the kernel's shape does
    /// not permit [planes](Shape::in_planes).
    pub fn in_grid(&self, y: u32, z: u32) -> Result<Self, GridError> {
        let kernel = self.name;
        if !self.shape.has_planes {
            return Err(GridError::OneDimension { kernel });
        }
        match [y, z].into_iter().find(|blocks| !(1..=u32::from(u16::MAX)).contains(blocks)) {
            Some(blocks) => Err(GridError::Blocks { kernel, blocks }),
            None => Ok(Self { planes: [y, z], ..self.copy() }),
        }
    }

    const fn copy(&self) -> Self {
        Self { ..*self }
    }

    /// Returns the same kernel with the function that the emulator runs in place of the entry
    /// point.
    #[cfg_attr(not(feature = "emulator"), allow(dead_code))]
    pub(crate) const fn with_substitute(self, substitute: Substitute) -> Self {
        Self { substitute: Some(substitute), ..self }
    }

    /// Returns the function that the emulator runs in place of the entry point.
    #[cfg_attr(not(feature = "emulator"), allow(dead_code))]
    pub(crate) const fn substitute(&self) -> Option<Substitute> {
        self.substitute
    }

    /// Returns the same kernel with another block shape. If this shape does not permit
    /// [planes](Shape::in_planes), the grid has one dimension again.
    ///
    /// A launch checks the shared memory of this shape against the GPU.
    ///
    /// # Safety
    /// The promise of [`new`](Self::new) holds for this shape.
    ///
    /// # Panics
    /// In the cases of [`new`](Self::new), except for the shared memory.
    #[allow(unsafe_code)]
    #[must_use]
    pub const unsafe fn in_blocks_of(&self, shape: Shape) -> Self {
        let kernel = Self::describe(self.module, self.name, shape, self.parameters);
        let Self { shape, most_operations, .. } = kernel;
        let planes = if shape.has_planes { self.planes } else { [1, 1] };
        Self { shape, most_operations, planes, ..self.copy() }
    }

    /// Returns whether this is a kernel of `module`. Two modules with the same text are different
    /// modules.
    #[must_use]
    pub fn is_of(&self, module: &'static Module) -> bool {
        ptr::eq(self.module, module)
    }

    /// Returns the name of the entry point.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the shape of the kernel's blocks.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the scalars, which follow the numbers of the batch.
    #[must_use]
    pub const fn scalars(&self) -> &'static [Scalar] {
        self.scalars
    }

    /// Returns the values of the scalars. They are not [complete](Self::is_complete) until
    /// [`with`](Self::with) or [`fixed_to`](Self::fixed_to) has set them.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values[..self.set]
    }

    /// Returns whether all scalars have values, so that the kernel can be launched.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.set == self.scalars.len()
    }

    /// Returns the array parameters in order. The two numbers of [`Batch::arguments`] follow them.
    #[must_use]
    pub const fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    /// Returns the numbers of blocks in the dimensions of the grid of a launch of `operations`
    /// operations.
    #[must_use]
    pub const fn grid(&self, operations: u32) -> [u32; 3] {
        [self.blocks(operations), self.planes[0], self.planes[1]]
    }

    /// Returns the number of blocks in the first dimension of the grid of a launch of `operations`
    /// operations.
    #[must_use]
    pub const fn blocks(&self, operations: u32) -> u32 {
        operations.div_ceil(self.shape.per_block)
    }

    /// Returns the largest number of operations in a batch.
    ///
    /// Kernels compute indices in 32 bits, counted in elements, in words or in bytes. They also
    /// compute indices of operations in the last block that lie after the end of the batch. With
    /// this number of operations and two more blocks, every operation still has a 32-bit number,
    /// and every byte of each array has a 32-bit index. The length of an array with [`Rows::Of`]
    /// does not limit this number; [`elements`](Self::elements) checks it for each launch. A grid
    /// of this number of operations has at most `2^31 - 1` blocks in its first dimension, which is
    /// the most that a GPU runs.
    #[must_use]
    pub const fn most_operations(&self) -> u32 {
        self.most_operations
    }

    /// Returns the length of the part of an array that the kernel may access, in elements from the
    /// first one on. The batch has at most [`most_operations`](Self::most_operations) operations.
    ///
    /// Kernels compute indices in 32 bits. So if [`Rows::Of`] makes a part of `2^32` bytes or more,
    /// rounded up to a whole group and one group more, the length is `u64::MAX`, and no array is
    /// long enough.
    #[must_use]
    pub fn elements(&self, parameter: &Parameter, batch: Batch) -> u64 {
        let grid = self.grid(batch.operations());
        parameter.elements(Extent { batch, grid, scalars: self.values() }, self.shape.per_block)
    }
}
