//! Products in the rings, by the ways of the CTRU-Prime paper and by those of the engine without
//! other steps.

pub mod ntt;
pub mod polyphase;
pub mod same_public_key;
pub mod same_secret_key;
pub mod schoolbook;
