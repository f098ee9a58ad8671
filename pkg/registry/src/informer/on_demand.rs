//! Views that are compiled on demand.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::SetOnce;
use tokio::time::timeout;

use super::{Informer, InformerTask, Projection};

/// Maximum wait for a view that is being compiled. After it, callers use the current state.
const LOAD_WAIT_MAX: Duration = Duration::from_secs(10);

/// Reader of a view that may be compiled on demand, so that startup does not wait for it. Cheap to clone.
pub struct OnDemandInformer<V> {
    informer: Informer<V>,
    /// Set by the first request; `None` for a view that is compiled at once.
    requested: Option<Arc<SetOnce<()>>>,
}

impl<V> Clone for OnDemandInformer<V> {
    fn clone(&self) -> Self {
        OnDemandInformer { informer: self.informer.clone(), requested: self.requested.clone() }
    }
}

impl<V: Projection> OnDemandInformer<V> {
    /// Creates a view and the task that keeps it up to date. With `later`, it is compiled when `later`
    /// completes or at the first request.
    pub fn new(
        informer: Informer<V>,
        task: InformerTask<V>,
        later: Option<BoxFuture<'static, ()>>,
    ) -> (Self, BoxFuture<'static, ()>) {
        let requested = later.is_some().then(|| Arc::new(SetOnce::new()));
        let view = OnDemandInformer { informer, requested: requested.clone() };
        let followed = async move {
            if let Some((requested, later)) = requested.zip(later) {
                tokio::select! {
                    _ = requested.wait() => {}
                    () = later => {}
                }
            }
            task.run().await;
        };
        (view, followed.boxed())
    }

    /// Requests the view. The future completes when the view is complete, or after ten seconds. Returns
    /// `None` if no wait is needed: the view is complete, or the server is not ready before it is.
    pub fn start_loading(&self) -> Option<BoxFuture<'_, ()>> {
        let request = self.requested.as_ref().filter(|_| !self.informer.is_ready())?;
        // Another request may have set it.
        _ = request.set(());
        Some(timeout(LOAD_WAIT_MAX, self.informer.ready()).map(drop).boxed())
    }

    /// Waits until the view is complete. Returns at once if the view is compiled on demand.
    pub async fn ready(&self) {
        if self.requested.is_none() {
            self.informer.ready().await;
        }
    }

    /// Calls `look` with the view, like [`Informer::read`].
    pub fn read<T>(&self, look: impl FnOnce(&V) -> T) -> T {
        self.informer.read(look)
    }
}
