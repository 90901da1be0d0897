//! Handshakes of a client and a server of rustls in one process.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod ends;
mod flipped;
mod negotiation;
mod shares;
