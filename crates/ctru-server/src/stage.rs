//! The stages of the shutdown of a server.

use std::future;

use tokio::sync::watch;

/// The stages of a server, from the first to the last.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It serves.
    #[default]
    Serving,
    /// It still serves, but calls should go to another server.
    Stopping,
    /// It accepts no connections, and reads no further messages of streams.
    Leaving,
    /// It cuts off the calls that are in progress.
    CutOff,
}

/// A receiver of the stages of a server.
#[derive(Clone, Debug)]
pub(crate) struct Stages(watch::Receiver<Stage>);

impl Stages {
    /// Returns a receiver of the stages that a server sends.
    pub(crate) fn of(server: &watch::Sender<Stage>) -> Self {
        Self(server.subscribe())
    }

    /// Returns whether calls should go to another server.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.0.borrow() >= Stage::Stopping
    }

    /// Returns whether the server accepts no more connections.
    pub(crate) fn is_leaving(&self) -> bool {
        *self.0.borrow() >= Stage::Leaving
    }

    /// Waits until the server leaves, or is dropped.
    pub(crate) async fn left(&mut self) {
        let _ = self.0.wait_for(|stage| *stage >= Stage::Leaving).await;
    }

    /// Waits until the server cuts off its calls. A server that is dropped finishes them, so then
    /// this waits forever.
    pub(crate) async fn cut_off(&mut self) {
        if self.0.wait_for(|stage| *stage >= Stage::CutOff).await.is_err() {
            future::pending::<()>().await;
        }
    }
}
