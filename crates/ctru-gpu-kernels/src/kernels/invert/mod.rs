//! Inversion: of one element by division steps ([`divsteps`]), and of batches by a product tree,
//! whose roots are inverted ([`tree_up`], [`tree_down`]).

pub mod divsteps;
pub mod tree_down;
pub mod tree_up;
