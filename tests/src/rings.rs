//! A macro that makes one test for each ring.

/// Makes a module of three tests, one for each ring, from each named generic function
/// `fn check<R: Ring>()`. Each test runs on every backend.
#[macro_export]
macro_rules! every_ring_on_every_backend {
    ($($check:ident),* $(,)?) => {
        $(
            mod $check {
                use ctru_math::{R653, R761, R1277};
                use $crate::backends::on_every_backend;

                #[test]
                fn r653() {
                    on_every_backend(super::$check::<R653>);
                }
                #[test]
                fn r761() {
                    on_every_backend(super::$check::<R761>);
                }
                #[test]
                fn r1277() {
                    on_every_backend(super::$check::<R1277>);
                }
            }
        )*
    };
}
