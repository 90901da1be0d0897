//! The macro that makes entry points from lists of kernels for all rings.

/// Makes three entry points from each entry of a list, one for each ring. The modules that the
/// entries name must be in scope.
macro_rules! ring_entry_points {
    ($($name:ident $text:literal = $room:ident::$module:ident::$function:ident(
        $($array:ident: $element:ty [$($length:tt)*] $(as $wider:ty)?),*
    );)*) => {
        $(
            // SAFETY of the three lines: the kernels keep the rules of the machine. The tests run
            // them on the emulator with arrays of exactly the lengths that the list states, and the
            // emulator stops at every violation.
            ctru_simt::entry_point!(unsafe [$text, "_653"],
                $room::$module::$function::<_, ctru_math::R653>, ($($array: $element),*));
            ctru_simt::entry_point!(unsafe [$text, "_761"],
                $room::$module::$function::<_, ctru_math::R761>, ($($array: $element),*));
            ctru_simt::entry_point!(unsafe [$text, "_1277"],
                $room::$module::$function::<_, ctru_math::R1277>, ($($array: $element),*));
        )*
    };
}

pub(crate) use ring_entry_points;
