//! Parameters that are chosen at run time.

use ctru_kem::{CtruPrime761, Packed13, ParameterSet, Parameters};

#[test]
fn values_and_types_agree() {
    for &parameters in Parameters::ALL {
        assert!(parameters.to_string().contains(&parameters.degree().to_string()));
    }
    assert_eq!(CtruPrime761::<Packed13>::PARAMETERS.to_string(), "CTRU-Prime-761 packed13");
}
