//! Inversion in `R_q`. [`divsteps`] inverts single elements by division steps. [`tree_up`] and
//! [`tree_down`] reduce the inversion of a batch to the inversion of the highest level of a product
//! tree. The few nodes of this level are called roots.

pub mod divsteps;
pub mod tree_down;
pub mod tree_up;
