//! The Pod Security Standards: the checks of each level and minor version.

use schema::object::Object;

use super::checks;
use super::policy::{Level, LevelVersion};
use super::subject::{Subject, Violation};

struct Check {
    level: Level,
    /// The minor version that introduced the check.
    since: u32,
    /// The minor version from which level `restricted` replaces it with a stricter check.
    replaced: u32,
    run: fn(Subject<'_>) -> Option<Violation>,
}

const NEVER: u32 = u32::MAX;

const fn baseline(since: u32, replaced: u32, run: fn(Subject<'_>) -> Option<Violation>) -> Check {
    Check { level: Level::Baseline, since, replaced, run }
}

const fn restricted(since: u32, run: fn(Subject<'_>) -> Option<Violation>) -> Check {
    Check { level: Level::Restricted, since, replaced: NEVER, run }
}

/// In the order of their messages: by level, then by upstream's ids.
const CHECKS: [Check; 19] = [
    baseline(0, NEVER, checks::app_armor),
    baseline(0, 22, checks::capabilities_baseline),
    baseline(0, NEVER, checks::host_namespaces),
    baseline(0, 0, checks::host_path_volumes),
    baseline(0, NEVER, checks::host_ports),
    baseline(34, NEVER, checks::probe_hosts),
    baseline(0, NEVER, checks::privileged),
    baseline(0, 35, checks::proc_mount_baseline),
    baseline(0, NEVER, checks::se_linux),
    baseline(0, 19, checks::seccomp_baseline),
    baseline(0, NEVER, checks::sysctls),
    baseline(0, NEVER, checks::windows_host_process),
    restricted(8, checks::privilege_escalation),
    restricted(22, checks::capabilities_restricted),
    restricted(35, checks::proc_mount),
    restricted(0, checks::volume_types),
    restricted(0, checks::run_as_non_root),
    restricted(23, checks::run_as_user),
    restricted(19, checks::seccomp_restricted),
];

/// Returns the violations of a pod. `template` contains the metadata; `spec` is its spec.
pub(super) fn violations(of: LevelVersion, template: &Object, spec: &Object) -> Vec<Violation> {
    let minor = of.version.unwrap_or(NEVER - 1);
    let subject = Subject { template, spec, minor };
    let applies = |check: &&Check| {
        check.since <= minor
            && match of.level {
                Level::Privileged => false,
                Level::Baseline => check.level == Level::Baseline,
                Level::Restricted => minor < check.replaced,
            }
    };
    CHECKS.iter().filter(applies).filter_map(|check| (check.run)(subject)).collect()
}
