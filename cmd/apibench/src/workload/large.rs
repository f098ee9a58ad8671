//! Writes of large objects by a growing number of concurrent writers. Each writer has an object of its own, so
//! that writers do not conflict. The rate must not fall as their number grows, and no write may be rejected.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;

use super::closed_loop::{ClosedLoop, Operation};
use super::{Context, Workload};
use crate::args::Settings;
use crate::bodies;
use crate::check::MAX_BODY;
use crate::client::{Call, Client, JSON};
use crate::error::Result;
use crate::realistic::Pod;
use crate::setup::{self, churn_path};

/// Concurrent creations before the timed part.
const CREATIONS: u64 = 4;
/// A key of a ConfigMap with its value, in bytes.
const KEY_BYTES: u64 = 64;

/// Kind of the writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    /// Merge patch of a pod's label: a small body for a large object.
    Patch,
    /// PUT of a ConfigMap: a body of the object's size.
    Put,
}

struct Large {
    name: &'static str,
    write: Write,
    /// Approximate size of an object in KB.
    kilobytes: u64,
    writers: u64,
}

/// Returns the operations of one kind for all sizes and numbers of writers.
macro_rules! table {
    ($name:literal, $write:expr) => {
        table!($name, $write; 4 10 50 250)
    };
    ($name:literal, $write:expr; $($kilobytes:literal)*) => {
        [$(table!(@writers $name, $write, $kilobytes; 1 4 16 32 64 128 256)),*].into_iter().flatten()
    };
    (@writers $name:literal, $write:expr, $kilobytes:literal; $($writers:literal)*) => {
        [$(Large {
            name: concat!($name, "-", $kilobytes, "k-", $writers),
            write: $write,
            kilobytes: $kilobytes,
            writers: $writers,
        }),*]
    };
}

/// Returns the workloads of the family `large`.
pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    let patches = table!("large-patch", Write::Patch);
    let puts = table!("large-put", Write::Put);
    patches.chain(puts).map(|large| ClosedLoop::of(large)).collect()
}

impl Large {
    fn collection(&self, settings: &Settings) -> String {
        match self.write {
            Write::Patch => churn_path(settings, "pods"),
            Write::Put => churn_path(settings, "configmaps"),
        }
    }

    /// ConfigMap of a writer.
    fn config_map(&self, writer: u64, value: &str) -> String {
        let bytes = self.kilobytes.saturating_mul(1000);
        bodies::config_map_of_keys(&object_name(writer), value, bytes / KEY_BYTES)
    }

    /// Calls that create the object of a writer.
    fn creation(&self, collection: &str, writer: u64) -> Vec<Call> {
        let name = object_name(writer);
        match self.write {
            Write::Patch => {
                let pod = Pod { name: &name, app: 0, node: "", kilobytes: self.kilobytes };
                pod.writes().map(|write| Call::of_manager(&write, collection, &name)).to_vec()
            }
            Write::Put => vec![Call::send(Method::POST, collection, JSON, self.config_map(writer, "new"))],
        }
    }

    fn call(&self, settings: &Settings, writer: u64, value: &str) -> Call {
        let path = format!("{}/{}", self.collection(settings), object_name(writer));
        match self.write {
            Write::Patch => {
                let body = format!(r#"{{"metadata":{{"labels":{{"seq":"{value}"}}}}}}"#);
                Call::send(Method::PATCH, path, "application/merge-patch+json", body)
            }
            Write::Put => Call::send(Method::PUT, path, JSON, self.config_map(writer, value)),
        }
    }
}

fn object_name(writer: u64) -> String {
    format!("large-{writer}")
}

#[async_trait]
impl Operation for Large {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        match self.write {
            Write::Patch => "merge patches of large pods, one per writer; the name has size and writers",
            Write::Put => "PUTs of large config maps, one per writer; the name has size and writers",
        }
    }

    fn lanes(&self, _: &Settings) -> u64 {
        self.writers
    }

    async fn prepare(&self, context: &Context, client: &Arc<Client>) -> Result<()> {
        let collection = self.collection(&context.settings);
        setup::delete_all(client, &collection).await?;
        let Self { name, write, kilobytes, writers } = *self;
        let large = Large { name, write, kilobytes, writers };
        let calls = move |writer| large.creation(&collection, writer);
        setup::create_with(client, self.writers, CREATIONS, calls).await
    }

    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        let response = client.call(0, self.call(&context.settings, 0, "verified"), MAX_BODY).await?;
        let response = response.expect(200)?;
        if memchr::memmem::find(&response.head, b"verified").is_none() {
            return Err(response.wrong("the new value is missing"));
        }
        Ok(response.bytes / 2)
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, i: u64) -> Result<Option<u64>> {
        let call = self.call(&context.settings, lane as u64, &format!("x{i}"));
        Ok(Some(client.call(lane, call, 0).await?.expect(200)?.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_their_size() {
        for large in table!("large-put", Write::Put) {
            let bytes = large.config_map(255, "x").len() as u64;
            let expected = large.kilobytes * 1000;
            assert!(bytes.abs_diff(expected) <= expected / 10 + 200, "{}: {bytes}", large.name);
        }
    }
}
