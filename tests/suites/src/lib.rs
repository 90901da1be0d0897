//! Nothing. The manifest says what this package is for.
