//! Tests of views that are compiled on demand.

use futures::FutureExt;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::*;

/// View of config maps, which is updated after the sender is used.
fn when_asked(cluster: &Cluster) -> (OnDemandInformer<Data>, oneshot::Sender<()>, JoinHandle<()>) {
    let row = Handle::from(resources::find("", "v1", "configmaps", "").unwrap());
    let (sender, later) = oneshot::channel();
    let (informer, task) = Informer::new(&cluster.registry, "test", vec![row]);
    let (view, followed) = OnDemandInformer::new(informer, task, Some(later.map(drop).boxed()));
    (view, sender, tokio::spawn(followed))
}

#[tokio::test(start_paused = true)]
async fn request_waits_until_view_is_complete() {
    let cluster = Cluster::empty(true).await;
    set(&cluster, "a", "1").await;
    let (view, _later, _task) = when_asked(&cluster);
    assert!(view.ready().now_or_never().is_some(), "nobody else waits for it");
    sleep(SLOW).await;
    assert!(view.read(|view| view.data.is_empty()), "nobody has asked");
    view.start_loading().unwrap().await;
    assert_eq!(view.read(|view| view.data.len()), 1);
    assert!(view.start_loading().is_none());
}

#[tokio::test(start_paused = true)]
async fn unrequested_view_is_compiled_later() {
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
    assert!(view.start_loading().is_none());
}

#[tokio::test(start_paused = true)]
async fn wait_for_view_times_out() {
    let cluster = Cluster::empty(true).await;
    let (view, _later, task) = when_asked(&cluster);
    task.abort();
    let start = tokio::time::Instant::now();
    view.start_loading().unwrap().await;
    assert_eq!(start.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn eager_view_delays_readiness() {
    let cluster = Cluster::empty(true).await;
    set(&cluster, "a", "1").await;
    let row = Handle::from(resources::find("", "v1", "configmaps", "").unwrap());
    let (informer, task) = Informer::new(&cluster.registry, "test", vec![row]);
    let (view, followed): (OnDemandInformer<Data>, _) = OnDemandInformer::new(informer, task, None);
    assert!(view.start_loading().is_none());
    assert!(view.ready().now_or_never().is_none());
    tokio::spawn(followed);
    view.ready().await;
    assert_eq!(view.read(|view| view.data.len()), 1);
}
