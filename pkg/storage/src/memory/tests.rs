//! The memory store keeps the contract, and does so under a paused clock.

mod keeps_the_contract {
    crate::conformance_suite!(
        crate::conformance::Fixture::new(crate::memory::Memory::new()),
        start_paused = true
    );
}

mod keeps_the_contract_on_many_threads {
    crate::conformance_suite!(
        crate::conformance::Fixture::new(crate::memory::Memory::new()),
        flavor = "multi_thread",
        worker_threads = 4
    );
}
