//! The macro that compiles functions in this crate, once for each ring.

/// Defines functions that are generic over the ring `R`, with machine code for all rings in this
/// crate.
///
/// The compiler generates the code of a generic function in the crate that calls it. Therefore a
/// function of this list only forwards to a method that is not generic. So this crate holds the
/// code for all rings and backends, and a dependent crate compiles nothing but calls.
///
/// The methods belong to the trait `Compiled` of the module that calls the macro. `$bound` is the
/// trait that the types in the list need. In the list, `R` is each ring in turn, or with the bound
/// [`Ring`](crate::Ring) each ring of CTRU-Prime.
/// [`Arithmetic`](crate::Arithmetic) unites the traits of all modules.
macro_rules! compiled {
    (Ring $(+ $bound:ident)?: $($list:tt)+) => {
        crate::compiled::compiled! { @ for_each_ring [Ring $(+ $bound)?] $($list)+ }
    };
    ($bound:ident: $($list:tt)+) => {
        crate::compiled::compiled! { @ for_each_ntru_prime_ring [$bound] $($list)+ }
    };
    (@ $each:ident [$($bound:tt)+] $(
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($($arg:ident: $arg_type:ty),* $(,)?) $(-> $output:ty)?
            $body:block
    )+) => {
        /// Declares the compiled functions of this module. The function that calls a method
        /// describes it.
        #[doc(hidden)]
        #[diagnostic::on_unimplemented(
            note = "the bound for all functions is `ctru_math::Arithmetic`"
        )]
        pub trait Compiled<R: $($bound)+>: $($bound)+ {
            $(fn $name($($arg: $arg_type),*) $(-> $output)?;)+
        }

        macro_rules! of_ring {
            ($ring:ident $n:literal $numbers:tt) => {
                const _: () = {
                    type R = crate::ring::$ring;
                    impl Compiled<R> for R {
                        $(
                            fn $name($($arg: $arg_type),*) $(-> $output)? $body
                        )+
                    }
                };
            };
        }
        crate::ring::$each!(of_ring);

        $(
            $(#[$attribute])*
            $visibility fn $name<R: Compiled<R>>($($arg: $arg_type),*) $(-> $output)? {
                <R as Compiled<R>>::$name($($arg),*)
            }
        )+
    };
}

pub(crate) use compiled;
