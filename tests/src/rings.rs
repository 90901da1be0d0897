//! A macro that makes one test for each ring.

/// Makes a module of tests, one for each ring of the list of `ctru_math`, from each named generic
/// function `fn check<R>()`. Each test runs on every backend.
#[macro_export]
macro_rules! every_ring_on_every_backend {
    ($list:ident: $($check:ident),* $(,)?) => {
        $(
            #[allow(non_snake_case)]
            mod $check {
                macro_rules! of_ring {
                    ($ring:ident $n:literal $numbers:tt) => {
                        #[test]
                        fn $ring() {
                            $crate::backends::on_every_backend(super::$check::<ctru_math::$ring>);
                        }
                    };
                }
                ctru_math::$list!(of_ring);
            }
        )*
    };
}
