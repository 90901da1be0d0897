//! Inversion in `R_q`. [`divsteps`] inverts single elements by division steps. [`frobenius`] and
//! [`norm`], with products between them, invert elements by powers. [`tree_up`] and [`tree_down`]
//! reduce the inversion of a batch to the inversion of the highest level of a product tree. The few
//! nodes of this level are called roots.

pub mod divsteps;
pub mod frobenius;
pub mod norm;
pub mod tree_down;
pub mod tree_up;
