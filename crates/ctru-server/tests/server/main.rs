//! Tests of a whole server, in this process and as a program of its own.
#![allow(clippy::unwrap_used)]

mod ages;
mod authority;
mod calls;
mod common;
mod ends;
mod faults;
mod files;
mod lifetimes;
mod limits;
#[cfg(target_os = "linux")]
mod overload;
#[cfg(all(target_os = "linux", feature = "profiles"))]
mod profiles;
#[cfg(unix)]
mod program;
mod tls;
#[cfg(all(unix, feature = "opentelemetry"))]
mod traces;
#[cfg(target_os = "linux")]
mod wiping;
