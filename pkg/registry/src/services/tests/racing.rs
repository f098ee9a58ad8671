//! Tests of concurrent allocations by several servers.

use super::*;

fn two_servers() -> [Server; 2] {
    let store: Arc<dyn Storage> = Arc::new(Memory::new());
    let families = Families { primary: Family::V4, dual: false };
    [1, 2].map(|seed| Server::of(&store, seed, families, 30_000..=30_013))
}

#[tokio::test]
async fn servers_can_exhaust_shared_ranges() {
    let servers = two_servers();
    let [first, second] = &servers;
    first.add_ranges("kubernetes", &["10.0.0.0/28"]).await;
    second.sees_ranges("kubernetes", true).await;
    first.services.repair_ports(&mut Leaks::default()).await.unwrap();
    let posts = (0..20).map(|number| {
        let server = &servers[number % 2];
        async move {
            let name = format!("s{number}");
            server.try_post(&name, json!({"type": "NodePort", "ports": one_port()}), false).await
        }
    });
    let results = futures::future::join_all(posts).await;
    let (created, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(std::result::Result::is_ok);
    assert_eq!((created.len(), refused.len()), (14, 6));
    for result in refused {
        let (code, message) = failure(result);
        assert_eq!(code, 500, "{message}");
        assert!(message.ends_with(": range is full"), "{message}");
    }
    first.assert_settled("the race").await;
    assert_eq!((first.addresses().await.len(), first.ports().await.len()), (14, 14));
    let names: Vec<String> = created
        .into_iter()
        .map(|created| created.unwrap()["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    futures::future::join_all(names.iter().enumerate().map(|(number, name)| {
        let server = &servers[number % 2];
        async move { server.delete("services", name, false).await }
    }))
    .await;
    first.assert_settled("all deletions").await;
    assert_eq!((first.addresses().await.len(), first.ports().await.len()), (0, 0));
}

#[tokio::test]
async fn one_of_two_competing_writers_wins() {
    let servers = two_servers();
    let [first, second] = &servers;
    first.add_ranges("kubernetes", &["10.0.0.0/28"]).await;
    second.sees_ranges("kubernetes", true).await;
    first.services.repair_ports(&mut Leaks::default()).await.unwrap();
    let spec =
        json!({"type": "NodePort", "clusterIP": "10.0.0.5", "ports": [{"port": 80, "nodePort": 30_005}]});
    let (first_result, second_result) =
        tokio::join!(first.try_post("a", spec.clone(), false), second.try_post("b", spec, false));
    assert!(first_result.is_ok() != second_result.is_ok());
    first.assert_settled("the race").await;
}
