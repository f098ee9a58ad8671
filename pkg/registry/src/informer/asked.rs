//! Views that are compiled when somebody asks.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::SetOnce;
use tokio::time::timeout;

use super::{Informer, InformerTask, Projection};

/// How long somebody waits for a view that is being compiled. After that he has to do with what there is.
const FILLING_MAX: Duration = Duration::from_secs(10);

/// Reads a view that may be compiled only when somebody asks for it, so that a start does not wait for it. Cheap to clone.
pub struct WhenAsked<V> {
    follower: Informer<V>,
    /// Set when somebody asks; `None` for a view that is compiled at once.
    asked: Option<Arc<SetOnce<()>>>,
}

impl<V> Clone for WhenAsked<V> {
    fn clone(&self) -> Self {
        WhenAsked { follower: self.follower.clone(), asked: self.asked.clone() }
    }
}

impl<V: Projection> WhenAsked<V> {
    /// A view, and what keeps it current while it runs. With `later`, it is not compiled before that has come or somebody
    /// asks for it.
    pub fn new(
        (follower, following): (Informer<V>, InformerTask<V>),
        later: Option<BoxFuture<'static, ()>>,
    ) -> (Self, BoxFuture<'static, ()>) {
        let asked = later.is_some().then(|| Arc::new(SetOnce::new()));
        let view = WhenAsked { follower, asked: asked.clone() };
        let followed = async move {
            if let Some((asked, later)) = asked.zip(later) {
                tokio::select! {
                    _ = asked.wait() => {}
                    () = later => {}
                }
            }
            following.run().await;
        };
        (view, followed.boxed())
    }

    /// Asks for the view. Done when it is complete, or has not become so in ten seconds; `None` if nobody has to wait: it is,
    /// or a server is not ready before it is.
    pub fn filling(&self) -> Option<BoxFuture<'_, ()>> {
        let asked = self.asked.as_ref().filter(|_| !self.follower.is_ready())?;
        // Somebody else may wait already.
        _ = asked.set(());
        Some(timeout(FILLING_MAX, self.follower.ready()).map(drop).boxed())
    }

    /// Done when the view is complete, or at once if those who ask for it wait.
    pub async fn ready(&self) {
        if self.asked.is_none() {
            self.follower.ready().await;
        }
    }

    /// Looks at the view, as [`Follower::read`].
    pub fn read<T>(&self, look: impl FnOnce(&V) -> T) -> T {
        self.follower.read(look)
    }
}
