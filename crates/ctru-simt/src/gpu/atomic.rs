//! Atomic instructions.

/// Updates the element at `$address` of the space `$space` by an atomic instruction, and returns
/// its old value, of type `T`.
macro_rules! atomic {
    ($space:literal, $address_class:ident, $address:ident, $update:ident) => {{
        macro_rules! one {
            ($operation:literal, $class:ident, $register:ty, $value:expr) => {{
                let old: $register;
                // SAFETY: the caller of `Gpu::new` promised that the element lies inside the array
                // or the block's shared memory and is aligned. If the arrays are disjoint, all
                // threads that touch it at the same time do so by atomic instructions; if not, only
                // its value is unspecified.
                unsafe {
                    asm!(concat!("atom", $space, ".", $operation, " {}, [{}], {};"),
                        out($class) old, in($address_class) $address,
                        in($class) $value.to_bits() as $register,
                        options(nostack, preserves_flags));
                }
                T::from_bits(old.into())
            }};
        }
        macro_rules! two {
            ($operation:literal, $class:ident, $register:ty, $expected:expr, $new:expr) => {{
                let old: $register;
                // SAFETY: the caller of `Gpu::new` promised that the element lies inside the array
                // or the block's shared memory and is aligned. If the arrays are disjoint, all
                // threads that touch it at the same time do so by atomic instructions; if not, only
                // its value is unspecified.
                unsafe {
                    asm!(concat!("atom", $space, ".", $operation, " {}, [{}], {}, {};"),
                        out($class) old, in($address_class) $address,
                        in($class) $expected.to_bits() as $register,
                        in($class) $new.to_bits() as $register,
                        options(nostack, preserves_flags));
                }
                T::from_bits(old.into())
            }};
        }
        match ($update, T::TYPE) {
            (Update::Add(value), NumberType::U32 | NumberType::I32) => {
                one!("add.u32", reg32, u32, value)
            }
            (Update::Add(value), _) => one!("add.u64", reg64, u64, value),
            (Update::Min(value), NumberType::U32) => one!("min.u32", reg32, u32, value),
            (Update::Min(value), NumberType::I32) => one!("min.s32", reg32, u32, value),
            (Update::Min(value), NumberType::I64) => one!("min.s64", reg64, u64, value),
            (Update::Min(value), _) => one!("min.u64", reg64, u64, value),
            (Update::Max(value), NumberType::U32) => one!("max.u32", reg32, u32, value),
            (Update::Max(value), NumberType::I32) => one!("max.s32", reg32, u32, value),
            (Update::Max(value), NumberType::I64) => one!("max.s64", reg64, u64, value),
            (Update::Max(value), _) => one!("max.u64", reg64, u64, value),
            (Update::Exchange(value), NumberType::U32 | NumberType::I32) => {
                one!("exch.b32", reg32, u32, value)
            }
            (Update::Exchange(value), _) => one!("exch.b64", reg64, u64, value),
            (
                Update::CompareExchange { expected, new },
                NumberType::U32 | NumberType::I32,
            ) => two!("cas.b32", reg32, u32, expected, new),
            (Update::CompareExchange { expected, new }, _) => {
                two!("cas.b64", reg64, u64, expected, new)
            }
        }
    }};
}

/// Loads the element of global memory at `$address` by an atomic instruction, as type `T`.
macro_rules! atomic_load {
    ($address:ident) => {{
        macro_rules! load {
                                ($type:literal, $class:ident, $register:ty) => {{
                                    let number: $register;
                                    // SAFETY: the caller of `Gpu::new` promised that the element
                                    // lies inside the array and is aligned. If the arrays are
                                    // disjoint, other threads write it at the same time by atomic
                                    // instructions only; if not, its value is unspecified, and
                                    // every pattern of bits is a valid `Word`.
                                    unsafe {
                                        asm!(concat!("ld.relaxed.gpu.global.", $type, " {}, [{}];"),
                                            out($class) number, in(reg64) $address,
                                            options(nostack, preserves_flags));
                                    }
                                    T::from_bits(number.into())
                                }};
                            }
        match T::BYTES {
            4 => load!("u32", reg32, u32),
            _ => load!("u64", reg64, u64),
        }
    }};
}

/// Adds to the element at `$address` of the space `$space` by an atomic instruction, and returns
/// its old value, of type `T`.
macro_rules! atomic_add_float {
    ($space:literal, $address_class:ident, $address:ident, $value:ident) => {{
        macro_rules! add {
            ($type:literal, $class:ident, $register:ty, $bits:ty) => {{
                let old: $register;
                let value = <$register>::from_bits($value.to_bits() as $bits);
                // SAFETY: the caller of `Gpu::new` promised that the element lies inside the array
                // or the block's shared memory and is aligned. If the arrays are disjoint, all
                // threads that touch it at the same time do so by atomic instructions; if not, only
                // its value is unspecified.
                unsafe {
                    asm!(concat!("atom", $space, ".add.", $type, " {}, [{}], {};"),
                        out($class) old, in($address_class) $address, in($class) value,
                        options(nostack, preserves_flags));
                }
                T::from_bits(old.to_bits().into())
            }};
        }
        match T::TYPE {
            NumberType::F32 => add!("f32", reg32, f32, u32),
            _ => add!("f64", reg64, f64, u64),
        }
    }};
}

pub(super) use {atomic, atomic_add_float, atomic_load};
