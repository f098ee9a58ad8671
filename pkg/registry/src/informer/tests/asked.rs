//! Claims about views that are compiled when somebody asks.

use futures::FutureExt;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::*;

/// A view of config maps that somebody follows, from the time on at which the sender is used.
fn when_asked(cluster: &Cluster) -> (WhenAsked<Data>, oneshot::Sender<()>, JoinHandle<()>) {
    let row = Handle::from(resources::find("", "v1", "configmaps", "").unwrap());
    let (sender, later) = oneshot::channel();
    let followed = Informer::new(&cluster.registry, "test", vec![row]);
    let (view, followed) = WhenAsked::new(followed, Some(later.map(drop).boxed()));
    (view, sender, tokio::spawn(followed))
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_view_waits_until_it_is_complete() {
    let cluster = Cluster::empty(true).await;
    set(&cluster, "a", "1").await;
    let (view, _later, _task) = when_asked(&cluster);
    assert!(view.ready().now_or_never().is_some(), "nobody else waits for it");
    sleep(SLOW).await;
    assert!(view.read(|view| view.data.is_empty()), "nobody has asked");
    view.filling().unwrap().await;
    assert_eq!(view.read(|view| view.data.len()), 1);
    assert!(view.filling().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_view_that_nobody_asks_for_is_compiled_later() {
    let cluster = Cluster::empty(true).await;
    set(&cluster, "a", "1").await;
    let (view, later, _task) = when_asked(&cluster);
    later.send(()).unwrap();
    let compiled = async {
        while view.read(|view| view.data.is_empty()) {
            sleep(SLOW / 100).await
        }
    };
    timeout(SLOW, compiled).await.unwrap();
    assert!(view.filling().is_none());
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever() {
    let cluster = Cluster::empty(true).await;
    let (view, _later, task) = when_asked(&cluster);
    task.abort();
    let began = tokio::time::Instant::now();
    view.filling().unwrap().await;
    assert_eq!(began.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_view_that_is_compiled_at_once_is_waited_for_when_a_server_starts() {
    let cluster = Cluster::empty(true).await;
    set(&cluster, "a", "1").await;
    let row = Handle::from(resources::find("", "v1", "configmaps", "").unwrap());
    let followed = Informer::new(&cluster.registry, "test", vec![row]);
    let (view, followed): (WhenAsked<Data>, _) = WhenAsked::new(followed, None);
    assert!(view.filling().is_none());
    assert!(view.ready().now_or_never().is_none());
    tokio::spawn(followed);
    view.ready().await;
    assert_eq!(view.read(|view| view.data.len()), 1);
}
