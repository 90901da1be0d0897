//! Macros that make descriptors and entry points of kernels from the same text.

/// Makes kernels: for each line, a descriptor and, where the crate is compiled for a GPU, the entry
/// point.
///
/// The first line names the [module](crate::ptx::Module) that holds the PTX. A line
///
/// ```text
/// pub unsafe NAME "name" = function(array: element[rows; row], ...; scalar: number, ...) in shape;
/// ```
///
/// makes the static [`Kernel`](crate::descriptor::Kernel) `NAME` and the entry point `name`, which
/// runs `function` in blocks of this [`Shape`](crate::descriptor::Shape). The function is generic
/// over [`Simt`](crate::simt::Simt); if it has further types, they stand after its name, as in
/// `function::<_, f32>`. It takes the machine, one [`Global<element>`](crate::simt::Simt::Global)
/// per array, the [`Batch`](crate::descriptor::Batch), and the scalars, if there are any. `rows` is
/// one of [`Rows`](crate::descriptor::Rows), and `row` is the number of elements in a row. A number
/// `m` after `row`, as in `[rows; row; m]`, declares that the kernel accesses whole groups of `m`
/// elements. A kernel that casts an array to larger elements declares them after the bracket, as in
/// `bytes: u8[rows; row] as u32`, unless a group is as large. No array and no scalar may have the
/// name of the function.
///
/// # Safety
/// The word `unsafe` in a line stands for two promises: that of
/// [`Kernel::new`](crate::descriptor::Kernel::new) about the memory that the kernel accesses, and
/// that the kernel keeps the [rules](crate::simt::Simt#rules) of the machine in every launch that
/// the descriptor permits. The emulator checks both for the launches that tests make.
///
/// # Examples
/// ```
/// use ctru_simt::descriptor::{Batch, Rows, Shape};
/// use ctru_simt::ptx::Module;
/// use ctru_simt::simt::Simt;
///
/// // In a real crate: include_str!("../ptx/doubling.ptx").
/// static MODULE: Module = Module::new("");
///
/// /// Doubles one number per operation.
/// pub fn double<S: Simt>(s: S, numbers: S::Global<u32>, batch: Batch) {
///     let i = s.block() * s.threads() + s.thread();
///     if i < batch.operations() {
///         s.store(numbers, i, s.load(numbers, i).wrapping_mul(2));
///     }
/// }
///
/// ctru_simt::kernels! {
///     in MODULE:
///     /// [`double`]
///     pub unsafe DOUBLE "double" = double(numbers: u32[Rows::EachOperation; 1])
///         in Shape::new(128, 128, 0);
/// }
/// assert_eq!(DOUBLE.blocks(1000), 8);
/// ```
///
/// A shape that no GPU of the module's target has is refused when the crate is compiled. This one
/// has more shared memory than the 163 KiB of `sm_80`:
///
/// ```compile_fail,E0080
/// # use ctru_simt::descriptor::{Batch, Rows, Shape};
/// # use ctru_simt::ptx::Module;
/// # use ctru_simt::simt::Simt;
/// static MODULE: Module = Module::new(".version 7.0\n.target sm_80\n");
/// # pub fn nothing<S: Simt>(_: S, _: S::Global<u32>, _: Batch) {}
/// ctru_simt::kernels! {
///     in MODULE:
///     pub unsafe NOTHING "nothing" = nothing(numbers: u32[Rows::EachOperation; 1])
///         in Shape::new(128, 128, 163 * 1024 + 1);
/// }
/// ```
///
/// With one byte less it is accepted:
///
/// ```
/// # use ctru_simt::descriptor::{Batch, Rows, Shape};
/// # use ctru_simt::ptx::Module;
/// # use ctru_simt::simt::Simt;
/// # static MODULE: Module = Module::new(".version 7.0\n.target sm_80\n");
/// # pub fn nothing<S: Simt>(_: S, _: S::Global<u32>, _: Batch) {}
/// ctru_simt::kernels! {
///     in MODULE:
///     pub unsafe NOTHING "nothing" = nothing(numbers: u32[Rows::EachOperation; 1])
///         in Shape::new(128, 128, 163 * 1024);
/// }
/// ```
///
/// Before the first build of the PTX there is no target, and the macro accepts up to 227 KiB. A
/// block must have 1 to 1024 threads and at least one operation, so this is refused too:
///
/// ```compile_fail,E0080
/// # use ctru_simt::descriptor::{Batch, Rows, Shape};
/// # use ctru_simt::ptx::Module;
/// # use ctru_simt::simt::Simt;
/// # static MODULE: Module = Module::new("");
/// # pub fn nothing<S: Simt>(_: S, _: S::Global<u32>, _: Batch) {}
/// ctru_simt::kernels! {
///     in MODULE:
///     pub unsafe NOTHING "nothing" = nothing(numbers: u32[Rows::EachOperation; 1])
///         in Shape::new(0, 128, 0);
/// }
/// ```
#[macro_export]
macro_rules! kernels {
    (
        in $module:path:
        $(
            $(#[$attribute:meta])*
            $visibility:vis unsafe $name:ident $text:literal =
                $function:ident $(::<$($generic:ty),*>)? (
                $($array:ident: $element:ty [$rows:expr; $row:expr $(; $multiple:expr)?]
                    $(as $wider:ty)?),*
                $(; $($scalar:ident: $number:ty),*)?
            ) in $shape:expr;
        )*
    ) => {
        $(
            $(#[$attribute])*
            #[allow(unsafe_code)]
            // SAFETY: the line promises it with the word `unsafe`.
            $visibility static $name: $crate::descriptor::Kernel = unsafe {
                $crate::descriptor!($module, [$text], $shape,
                    $function $(::<$($generic),*>)?,
                    ($($array: $element [$rows; $row $(; $multiple)?] $(as $wider)?),*)
                    $(, ($($scalar: $number),*))?)
            };
            $crate::entry_point!(unsafe [$text], $function $(::<$($generic),*>)?,
                ($($array: $element),*) $(, ($($scalar: $number),*))?);
        )*
    };
}

/// Makes the descriptor of a kernel: a call of the unsafe function
/// [`Kernel::new`](crate::descriptor::Kernel::new).
///
/// The arguments are the static module, the pieces of the entry point's name, the shape of the
/// blocks, the function with `_` as its machine, the arrays in the form of
/// [`kernels`](crate::kernels), and the scalars, if there are any. If this crate has the feature
/// `emulator`, the emulator runs the function.
#[macro_export]
macro_rules! descriptor {
    ($module:path, [$($name:expr),*], $shape:expr, $function:path,
        ($($array:ident: $element:ty [$rows:expr; $row:expr $(; $multiple:expr)?]
            $(as $wider:ty)?),*)
        $(, ($($scalar:ident: $number:ty),*))?) => {
        $crate::emulated!(
            $crate::descriptor::Kernel::new(
                &$module,
                concat!($($name),*),
                $shape,
                const { &[$(
                    $crate::descriptor::Parameter::new(
                        stringify!($array), <$element as $crate::simt::Word>::BYTES, $rows, $row)
                    $(.in_multiples_of($multiple))?
                    $(.cast_to::<$wider>())?
                ),*] },
            )
            $(.taking(const { &[$(
                $crate::scalar::Scalar::new::<$number>(stringify!($scalar))
            ),*] }))?,
            $function, ($($array: $element),*) $(, ($($scalar: $number),*))?
        )
    };
}

/// Adds the function that the emulator runs to a descriptor. This macro has two forms, and the
/// features of this crate choose between them, so users of [`descriptor`](crate::descriptor!) need
/// no feature of their own.
#[cfg(feature = "emulator")]
#[doc(hidden)]
#[macro_export]
macro_rules! emulated {
    ($kernel:expr, $function:path, ($($array:ident: $element:ty),*)
        $(, ($($scalar:ident: $number:ty),*))?) => {
        $kernel.emulated_by(&{
            // A closure would be compiled twice: alone, and as part of what a pointer to it calls.
            fn emulate<'a>(
                thread: $crate::emulator::Thread<'a>,
                buffers: &[&'a $crate::emulator::Buffer],
                batch: $crate::descriptor::Batch,
            ) {
                let &[$($array),*] = buffers else {
                    unreachable!("the launch has checked the arguments")
                };
                $(
                    let mut scalars = 0..;
                    $(
                        let $scalar = thread.scalar::<$number>(scalars.next().unwrap_or(0));
                    )*
                )?
                $function(thread, $($array.view::<$element>(),)* batch $(, $($scalar),*)?);
            }
            const EMULATE: $crate::emulator::Emulate = emulate;
            EMULATE
        })
    };
}

/// Returns the descriptor without a function for the emulator, which this build does not have.
/// Checks that the function takes these arguments.
#[cfg(not(feature = "emulator"))]
#[doc(hidden)]
#[macro_export]
macro_rules! emulated {
    ($kernel:expr, $function:path, ($($array:ident: $element:ty),*)
        $(, ($($scalar:ident: $number:ty),*))?) => {{
        #[allow(dead_code, clippy::too_many_arguments)]
        fn kernel<Machine: $crate::simt::Simt>(
            machine: Machine,
            $($array: Machine::Global<$element>,)*
            batch: $crate::descriptor::Batch,
            $($($scalar: $number),*)?
        ) {
            $function(machine, $($array,)* batch $(, $($scalar),*)?);
        }
        $kernel
    }};
}

/// Makes the entry point of a kernel where the crate is compiled for a GPU, and nothing elsewhere.
///
/// The arguments are the word `unsafe`, the pieces of the entry point's name, the function with `_`
/// as its machine, the arrays with the types of their elements, and the scalars, if there are any.
///
/// # Safety
/// The word `unsafe` stands for a promise: the kernel keeps the [rules](crate::simt::Simt#rules) of
/// the machine in every launch that its descriptor permits.
#[cfg(target_arch = "nvptx64")]
#[allow_internal_unstable(abi_ptx)]
#[macro_export]
macro_rules! entry_point {
    (unsafe [$($name:expr),*], $function:path, ($($array:ident: $element:ty),*)
        $(, ($($scalar:ident: $number:ty),*))?) => {
        const _: () = {
            #[allow(unsafe_code)]
            #[unsafe(export_name = concat!($($name),*))]
            unsafe extern "ptx-kernel" fn entry($($array: *mut $element,)* operations: u32,
                rows: u32 $(, $($scalar: $number),*)?) {
                // SAFETY: the host launches the kernel by its descriptor, which comes from the same
                // text. The descriptor states the lengths of the arrays and the shape of the
                // blocks. Under these conditions, the caller of this macro promises, with the word
                // `unsafe`, that the kernel keeps the rules.
                let gpu = unsafe { $crate::gpu::Gpu::new() };
                let batch = $crate::descriptor::Batch::from_arguments([operations, rows]);
                $function(gpu, $($crate::gpu::Global::new($array),)* batch
                    $(, $($scalar),*)?);
            }
        };
    };
}

/// Makes nothing, because the crate is not compiled for a GPU. It takes the same arguments as the
/// macro for a GPU, so it needs the word `unsafe` too:
///
/// ```
/// ctru_simt::entry_point!(unsafe ["copy"], copy::<_>, (from: u32, to: u32));
/// ```
/// ```compile_fail
/// ctru_simt::entry_point!(["copy"], copy::<_>, (from: u32, to: u32));
/// ```
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! entry_point {
    (unsafe $($entry:tt)*) => {};
}
