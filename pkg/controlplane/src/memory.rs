//! Memory limit and usage of the process, and the cache budgets (`docs/memory.md`).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use server::limits::memory::{MemoryBudget, Meter};

/// Page size in bytes on every supported Linux.
const PAGE_BYTES: u64 = 4096;
/// Divisors of the memory limit for the cache budgets.
const FORMS_DIVISOR: u64 = 16;
const FRAMES_DIVISOR: u64 = 64;
const COMPRESSED_DIVISOR: u64 = 32;
const SUPERSEDED_DIVISOR: u64 = 32;
/// cgroup version 1 represents "no limit" by a number of about this size.
const UNLIMITED: u64 = 1 << 60;

/// Returns the memory limit in bytes: the configured one, or that of the cgroup.
pub(crate) fn limit(configured: Option<u64>) -> Option<u64> {
    configured.or_else(|| cgroup_limit(Path::new("/")))
}

/// Returns the memory budget with the [`limit`], or one without a limit.
pub(crate) fn memory_budget(configured: Option<u64>) -> MemoryBudget {
    match limit(configured) {
        Some(limit) => {
            tracing::info!(bytes = limit, configured = configured.is_some(), "memory limit set");
            MemoryBudget::new(limit, Arc::new(ResidentMeter))
        }
        None => MemoryBudget::default(),
    }
}

/// Cache budgets in bytes. They never exceed the budgets without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budgets {
    /// Encoded objects.
    pub(crate) forms: usize,
    /// Encoded events.
    pub(crate) frames: usize,
    /// Compressed lists.
    pub(crate) compressed: usize,
    /// Superseded objects, per resource.
    pub(crate) superseded: usize,
}

impl Budgets {
    /// Returns the budgets for a limit; `usual` are those without one.
    pub(crate) fn for_limit(limit: Option<u64>, usual: Budgets) -> Self {
        let part = |usual: usize, part: u64| {
            limit.map_or(usual, |limit| usual.min(usize::try_from(limit / part).unwrap_or(usize::MAX)))
        };
        Budgets {
            forms: part(usual.forms, FORMS_DIVISOR),
            frames: part(usual.frames, FRAMES_DIVISOR),
            compressed: part(usual.compressed, COMPRESSED_DIVISOR),
            superseded: part(usual.superseded, SUPERSEDED_DIVISOR),
        }
    }
}

/// Meter of the resident memory.
pub(crate) struct ResidentMeter;

impl Meter for ResidentMeter {
    fn bytes(&self) -> Option<u64> {
        let statm = fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
        Some(pages * PAGE_BYTES)
    }
}

/// Returns the lowest limit of the process's cgroups, below `root`: version 2 (`memory.max`) or version 1.
fn cgroup_limit(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    groups.lines().filter_map(|line| limit_of(root, line)).min()
}

/// Returns the limit for a line of `/proc/self/cgroup`: `ID:CONTROLLERS:PATH`.
fn limit_of(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let controllers = parts.next()?;
    let path = parts.next()?;
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        named if named.split(',').any(|name| name == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let mount = root.join(mount);
    // In a container, the path may belong to the host, and the mounted group is the container's own.
    let group: PathBuf = Path::new(path.trim_start_matches('/')).to_owned();
    group.ancestors().filter_map(|group| read_limit(&mount.join(group).join(file))).min()
}

fn read_limit(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok().filter(|limit| *limit < UNLIMITED)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::test_cluster::TestDir;

    fn check(files: &[(&str, &str)], expected: Option<u64>) {
        let root = TestDir::new().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(cgroup_limit(root.path()), expected, "{files:?}");
    }

    #[test]
    fn the_least_limit_of_all_groups_counts() {
        let v2 = ("proc/self/cgroup", "0::/a.slice/b\n");
        check(&[], None);
        check(&[v2, ("sys/fs/cgroup/a.slice/b/memory.max", "max\n")], None);
        check(&[v2, ("sys/fs/cgroup/a.slice/b/memory.max", "536870912\n")], Some(512 << 20));
        let outer = ("sys/fs/cgroup/a.slice/memory.max", "1048576\n");
        check(&[v2, outer, ("sys/fs/cgroup/a.slice/b/memory.max", "536870912\n")], Some(1 << 20));
        // In a container the mounted group is its own.
        check(&[v2, ("sys/fs/cgroup/memory.max", "536870912\n")], Some(512 << 20));
        let v1 = ("proc/self/cgroup", "9:cpu,cpuacct:/x\n8:memory:/x\n");
        check(&[v1, ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1048576\n")], Some(1 << 20));
        check(&[v1, ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n")], None);
    }

    #[test]
    fn cache_budgets_scale_with_small_limits() {
        let usual = Budgets { forms: 64 << 20, frames: 16 << 20, compressed: 32 << 20, superseded: 64 << 20 };
        assert_eq!(Budgets::for_limit(None, usual), usual);
        assert_eq!(Budgets::for_limit(Some(64 << 30), usual), usual);
        let small = Budgets { forms: 32 << 20, frames: 8 << 20, compressed: 16 << 20, superseded: 16 << 20 };
        assert_eq!(Budgets::for_limit(Some(512 << 20), usual), small);
    }

    #[test]
    fn this_process_has_memory() {
        assert!(ResidentMeter.bytes().unwrap() > 1 << 20);
    }
}
