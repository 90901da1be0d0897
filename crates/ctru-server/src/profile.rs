//! Profiles of the processor time in the form of pprof, on the address of metrics and probes.

use std::time::Duration;

use axum::extract::RawQuery;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use pprof::ProfilerGuardBuilder;
use pprof::protos::Message;

/// The samples for each second that a thread computes.
const FREQUENCY: i32 = 99;
/// The seconds of a profile, if the query does not say.
const SECONDS: u64 = 10;
/// The largest number of seconds of a profile.
const MOST_SECONDS: u64 = 60;
/// The libraries that are not sampled, because unwinding the stack there could wait for a lock that
/// the interrupted thread holds.
const NOT_SAMPLED: [&str; 4] = ["libc", "libgcc", "pthread", "vdso"];

type Refusal = (StatusCode, String);

/// Returns the seconds that a query such as `seconds=30` asks for.
///
/// # Errors
/// If they are no number, or not between 1 and 60.
fn seconds(query: &str) -> Result<u64, Refusal> {
    let given = query.split('&').find_map(|part| part.strip_prefix("seconds="));
    let seconds = given.map_or(Ok(SECONDS), str::parse);
    seconds.ok().filter(|seconds| (1..=MOST_SECONDS).contains(seconds)).ok_or_else(|| {
        let reason = format!("`seconds` is a number from 1 to {MOST_SECONDS}\n");
        (StatusCode::BAD_REQUEST, reason)
    })
}

fn failed(error: impl ToString) -> Refusal {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{}\n", error.to_string()))
}

/// Samples the stacks of all threads that compute, for the seconds of the query.
pub(crate) async fn cpu(RawQuery(query): RawQuery) -> Result<impl IntoResponse, Refusal> {
    let duration = Duration::from_secs(seconds(query.as_deref().unwrap_or_default())?);
    let profiler = ProfilerGuardBuilder::default().frequency(FREQUENCY).blocklist(&NOT_SAMPLED);
    let profiler = profiler.build().map_err(|error| match error {
        pprof::Error::Running => (StatusCode::CONFLICT, "there is another profile\n".into()),
        error => failed(error),
    })?;
    tokio::time::sleep(duration).await;
    // Finding the names of functions takes long.
    let profile = tokio::task::spawn_blocking(move || -> Result<_, Refusal> {
        let report = profiler.report().build().map_err(failed)?;
        report.pprof().map_err(failed)?.write_to_bytes().map_err(failed)
    });
    let profile = profile.await.map_err(failed)??;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], profile))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_say_how_long() {
        assert_eq!(seconds(""), Ok(10));
        assert_eq!(seconds("a=b&seconds=60"), Ok(60));
        for wrong in ["seconds=", "seconds=0", "seconds=61", "seconds=-1", "seconds=a"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
