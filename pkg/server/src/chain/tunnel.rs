//! Requests whose connection stays open after a 101 response.

use endpoints::routing::dispatch::{InitializedFlag, Response, Tunnel};
use tokio::time::Instant;

use super::SentResponse;
use super::observer::Observer;
use crate::chain::response_body::ResponseBody;
use crate::limits::limiter::LimitGuards;

/// Observes a request until its tunnel is closed. A watch occupies its share of the limits until it has sent its initial
/// state, or `until`; the share of other tunnels is released now.
pub(super) fn observe_until_closed(
    tunnel: Tunnel,
    mut response: Response,
    observer: Observer,
    guards: LimitGuards,
    until: Instant,
) -> SentResponse {
    let initialized = response.extensions_mut().remove::<InitializedFlag>();
    let guards = initialized.clone().and_then(|flag| guards.into_response_guards(Some(flag), until));
    tokio::spawn(async move {
        if let Some(initialized) = initialized {
            tokio::select! {
                () = initialized.wait() => {}
                () = tunnel.closed() => {}
            }
        }
        drop(guards);
        tunnel.closed().await;
        drop(observer);
    });
    response.map(ResponseBody::unobserved)
}
