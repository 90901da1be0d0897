//! What the tests of this workspace share: strategies for proptest and lists of the rings.

pub mod strategies;
