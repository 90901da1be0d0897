//! Products in the ring, by several methods that give the same results.
//!
//! | module | method | use |
//! |---|---|---|
//! | [`schoolbook`] | the definition, over the integers | oracle of all others |

pub mod schoolbook;
