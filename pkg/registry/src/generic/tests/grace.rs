//! Tests of graceful deletion of pods.

use super::*;

fn grace(seconds: i64) -> DeleteOptions {
    DeleteOptions { grace_period_seconds: Some(seconds), ..DeleteOptions::default() }
}

/// Remaining seconds and grace period of a terminating pod.
async fn left(world: &World) -> Option<(i64, i64)> {
    let pod = world.get("pods", "p").await.ok()?;
    let at = crate::meta::deletion_seconds(pod.as_object()?)?;
    Some((at - NOW, pod["metadata"]["deletionGracePeriodSeconds"].as_i64()?))
}

async fn running() -> World {
    let world = World::new();
    world
        .create_object("pods", "p", json!({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 20}}))
        .await;
    world
}

#[tokio::test]
async fn scheduled_pod_has_grace_period() {
    let check = async |spec: Value, options: DeleteOptions, expected: Option<(i64, i64)>| {
        let world = World::new();
        world.create_object("pods", "p", json!({ "spec": spec })).await;
        world.delete("pods", "p", &options).await.unwrap();
        assert_eq!(left(&world).await, expected, "{spec} {options:?}");
    };
    let scheduled = || json!({"nodeName": "n", "terminationGracePeriodSeconds": 20});
    check(json!({"terminationGracePeriodSeconds": 20}), DeleteOptions::default(), None).await;
    check(json!({}), grace(50), None).await;
    check(json!({"nodeName": "n"}), DeleteOptions::default(), Some((30, 30))).await;
    check(scheduled(), DeleteOptions::default(), Some((20, 20))).await;
    check(scheduled(), grace(5), Some((5, 5))).await;
    check(scheduled(), grace(-7), Some((1, 1))).await;
    check(scheduled(), grace(0), None).await;
}

#[tokio::test]
async fn a_pod_that_has_ended_needs_no_grace() {
    for phase in ["Succeeded", "Failed"] {
        let world = running().await;
        let mut pod = world.get("pods", "p").await.unwrap();
        pod["status"]["phase"] = phase.into();
        world.put("pods/status", pod).await.unwrap();
        assert_eq!(world.delete_and_get("pods", "p").await, None, "{phase}");
    }
}

#[tokio::test]
async fn second_deletion_only_shortens_grace_period() {
    let check = async |elapsed: u32, options: DeleteOptions, expected: Option<(i64, i64)>| {
        let world = running().await;
        world.delete("pods", "p", &DeleteOptions::default()).await.unwrap();
        world.clock.advance_seconds(elapsed);
        world.delete("pods", "p", &options).await.unwrap();
        assert_eq!(left(&world).await, expected, "after {elapsed} s: {options:?}");
    };
    check(3, DeleteOptions::default(), Some((20, 20))).await;
    check(3, grace(20), Some((20, 20))).await;
    check(3, grace(60), Some((20, 20))).await;
    check(3, grace(5), Some((5, 5))).await;
    check(10, grace(5), Some((10, 1))).await;
    check(10, grace(-1), Some((10, 1))).await;
    check(3, grace(0), None).await;
}

#[tokio::test]
async fn kubelet_deletion_with_zero_grace_removes_pod() {
    let world = running().await;
    world.delete("pods", "p", &DeleteOptions::default()).await.unwrap();
    world.clock.advance_seconds(20);
    world.delete("pods", "p", &grace(0)).await.unwrap();
    assert_eq!(failure(world.get("pods", "p").await).0, 404);
}

#[tokio::test]
async fn finalizers_keep_pod_after_grace_period() {
    let world = World::new();
    let more = json!({"metadata": {"finalizers": ["x.y/z"]}, "spec": {"nodeName": "n"}});
    world.create_object("pods", "p", more).await;
    world.delete("pods", "p", &grace(0)).await.unwrap();
    assert_eq!(left(&world).await, Some((0, 0)));
}
