//! Tests with a store that fails while a service is written.

use storage::fault::{Fault, FaultyStorage, Operation, Plan};

use super::*;

/// A service needs three puts: its address, its ports, itself.
const PUTS: u64 = 3;

#[tokio::test]
async fn possible_allocations_are_kept_until_repair() {
    for (index, fault, exists) in [
        (0, Fault::FailBefore, false),
        (0, Fault::FailAfter, false),
        (1, Fault::FailBefore, false),
        (1, Fault::FailAfter, false),
        (2, Fault::FailBefore, false),
        (2, Fault::FailAfter, true),
    ] {
        let faulty = Arc::new(FaultyStorage::new(Arc::new(Memory::new()), Plan::none()));
        let store: Arc<dyn Storage> = faulty.clone();
        let families = Families { primary: Family::V4, dual: false };
        let server = Server::of(&store, 1, families, 30_000..=30_099);
        server.add_ranges("kubernetes", &["10.0.0.0/24"]).await;
        let mut leaks = Leaks::default();
        server.services.repair_ports(&mut leaks).await.unwrap();
        let calls = faulty.calls(Operation::Put);
        faulty.set_plan(Plan::script([(Operation::Put, calls + index, fault)]));
        let spec = json!({"type": "NodePort", "ports": one_port()});
        assert!(server.try_post("a", spec, false).await.is_err());
        let case = format!("put {index} of {PUTS}, {fault:?}");
        assert_eq!(faulty.injected(), 1, "{case}");
        assert_eq!(server.exists(row("", "services"), NAMESPACE, "a").await, exists, "{case}");
        if exists {
            server.assert_settled(&case).await;
        }
        server.clock.advance_seconds(61);
        for _ in 0..3 {
            server.services.repair_ports(&mut leaks).await.unwrap();
            server.services.repair_addresses().await.unwrap();
        }
        server.assert_settled(&case).await;
        assert_eq!(server.addresses().await.len(), usize::from(exists), "{case}");
    }
}
