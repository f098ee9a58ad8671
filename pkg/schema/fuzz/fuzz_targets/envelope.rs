//! Envelopes, resource versions and headers of arbitrary bytes never panic; wrapped bytes can be unwrapped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::proto::{Envelope, meta::Header, with_resource_version, wrap};

fuzz_target!(|data: &[u8]| {
    let Ok(envelope) = Envelope::parse(data) else { return };
    let mut wrapped = Vec::new();
    wrap(&envelope.api_version, &envelope.kind, envelope.raw, &mut wrapped);
    let opened = Envelope::parse(&wrapped);
    assert!(opened.is_ok_and(|o| o.raw == envelope.raw && o.kind == envelope.kind));
    let mut spliced = Vec::new();
    if with_resource_version(envelope.raw, "7", &mut spliced).is_ok() {
        let _ = Header::parse(&spliced)
            .map(|h| (h.labels().count(), h.finalizers().count(), h.owner_uids().count()));
    }
});
