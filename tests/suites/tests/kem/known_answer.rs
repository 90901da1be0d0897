//! The known-answer test, whose answers an implementation in Python has computed.

use ctru_kem::{ParameterSet, WrongAnswer, known_answer_test};
use ctru_tests::every_set;

every_set!(answers_are_right);

fn answers_are_right<P: ParameterSet>() {
    assert_eq!(known_answer_test::<P>(), Ok(()));
}

#[test]
fn a_wrong_answer_names_the_set() {
    let text = WrongAnswer { set: "CTRU-Prime-761" }.to_string();
    assert!(text.contains("CTRU-Prime-761 wrongly"), "{text}");
}
