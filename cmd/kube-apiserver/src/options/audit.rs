//! `--audit-*`: what is audited, and where it is written.

use std::path::PathBuf;
use std::time::Duration;

use controlplane::config::{
    AuditConfig, AuditLogConfig, AuditMode, BatchOptions, FileOptions, Format, Throttle, TruncateOptions,
};

use super::path;
use crate::flags::Flags;

const MODES: [&str; 3] = ["batch", "blocking", "blocking-strict"];
const FORMATS: [&str; 2] = ["legacy", "json"];
const VERSION: &str = "audit.k8s.io/v1";
/// Means the standard output of the process.
const STDOUT: &str = "-";
const MEGABYTE: u64 = 1024 * 1024;
/// The most events that may wait, however many are asked for.
const WAITING_MAX: usize = 1_000_000;

/// What the flags say.
pub(super) fn config(flags: &Flags) -> AuditConfig {
    AuditConfig { policy_file: path(flags, "audit-policy-file"), log: log(flags) }
}

fn log(flags: &Flags) -> Option<AuditLogConfig> {
    let path = flags.optional("audit-log-path")?;
    let positive = |name: &str| usize::try_from(flags.int(name)).unwrap_or(0);
    let file = (path != STDOUT).then(|| FileOptions {
        path: PathBuf::from(path),
        bytes_max: u64::try_from(flags.int("audit-log-maxsize"))
            .ok()
            .filter(|megabytes| *megabytes > 0)
            .map(|megabytes| megabytes.saturating_mul(MEGABYTE)),
        backups_max: positive("audit-log-maxbackup"),
        days_max: u32::try_from(flags.int("audit-log-maxage")).unwrap_or(u32::MAX),
        compress: flags.bool("audit-log-compress"),
    });
    Some(AuditLogConfig {
        file,
        format: Format::parse(flags.text("audit-log-format")).unwrap_or(Format::Json),
        mode: match flags.text("audit-log-mode") {
            "batch" => AuditMode::Batch(batch(flags)),
            "blocking-strict" => AuditMode::BlockingStrict,
            _ => AuditMode::Blocking,
        },
        truncate: flags.bool("audit-log-truncate-enabled").then(|| TruncateOptions {
            event_bytes_max: positive("audit-log-truncate-max-event-size"),
            batch_bytes_max: positive("audit-log-truncate-max-batch-size"),
        }),
    })
}

fn batch(flags: &Flags) -> BatchOptions {
    let positive = |name: &str| usize::try_from(flags.int(name)).unwrap_or(1).max(1);
    let throttle = flags.bool("audit-log-batch-throttle-enable").then(|| Throttle {
        per_second: flags.float("audit-log-batch-throttle-qps"),
        burst: u32::try_from(flags.int("audit-log-batch-throttle-burst")).unwrap_or(u32::MAX),
    });
    BatchOptions {
        waiting_max: positive("audit-log-batch-buffer-size").min(WAITING_MAX),
        events_max: positive("audit-log-batch-max-size"),
        wait_max: Duration::from_nanos(u64::try_from(flags.nanos("audit-log-batch-max-wait")).unwrap_or(0)),
        throttle,
    }
}

/// What is wrong with them, in upstream's words. Nothing is where there is no log.
pub(super) fn check(flags: &Flags, errors: &mut Vec<String>) {
    if flags.optional("audit-log-path").is_none() {
        return;
    }
    let mode = flags.text("audit-log-mode");
    if !MODES.contains(&mode) {
        errors.push(format!("invalid audit log mode {mode}, allowed modes are {:?}", MODES.join(",")));
    } else if mode == "batch" {
        errors.extend(check_batch(flags));
    }
    let (event, batch) =
        (flags.int("audit-log-truncate-max-event-size"), flags.int("audit-log-truncate-max-batch-size"));
    if event <= 0 {
        errors.push(format!("invalid audit truncate log max event size {event}, must be a positive number"));
    } else if batch < event {
        errors.push(format!(
            "invalid audit truncate log max batch size {batch}, must be greater than max event size ({event})"
        ));
    }
    if flags.text("audit-log-version") != VERSION {
        errors.push(format!("invalid group version, allowed versions are [{VERSION:?}]"));
    }
    let format = flags.text("audit-log-format");
    if !FORMATS.contains(&format) {
        errors
            .push(format!("invalid audit log format {format}, allowed formats are {:?}", FORMATS.join(",")));
    }
    for name in ["audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize"] {
        let value = flags.int(name);
        if value < 0 {
            errors.push(format!("--{name} {value} can't be a negative number"));
        }
    }
}

/// The first thing that is wrong with how events are written in batches.
fn check_batch(flags: &Flags) -> Option<String> {
    let wrong = |name: &str, value: &str| {
        format!("invalid audit batch log {name} {value}, must be a positive number")
    };
    for (flag, name) in
        [("audit-log-batch-buffer-size", "buffer size"), ("audit-log-batch-max-size", "max batch size")]
    {
        let value = flags.int(flag);
        if value <= 0 {
            return Some(wrong(name, &value.to_string()));
        }
    }
    if !flags.bool("audit-log-batch-throttle-enable") {
        return None;
    }
    let (rate, burst) =
        (flags.float("audit-log-batch-throttle-qps"), flags.int("audit-log-batch-throttle-burst"));
    match () {
        () if rate <= 0.0 => Some(wrong("throttle QPS", &rate.to_string())),
        () if burst <= 0 => Some(wrong("throttle burst", &burst.to_string())),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> Flags {
        let words = line.split_whitespace().map(str::to_owned);
        Flags::parse(words).unwrap_or_default()
    }

    #[test]
    fn a_log_is_as_the_flags_say() {
        assert_eq!(config(&flags("")), AuditConfig::default());
        let log = log(&flags("--audit-log-path=/var/log/a.log")).unwrap_or_else(|| panic!("a log"));
        let file = FileOptions {
            path: PathBuf::from("/var/log/a.log"),
            bytes_max: Some(100 * MEGABYTE),
            backups_max: 100,
            days_max: 366,
            compress: false,
        };
        let expected = AuditLogConfig {
            file: Some(file),
            format: Format::Json,
            mode: AuditMode::Blocking,
            truncate: None,
        };
        assert_eq!(log, expected);
        let line = "--audit-log-path=- --audit-log-mode=batch --audit-log-format=legacy --audit-log-batch-max-wait=2s \
                    --audit-log-truncate-enabled --audit-log-batch-throttle-enable \
                    --audit-log-batch-throttle-qps=0.5 --audit-log-batch-throttle-burst=3";
        let expected = AuditLogConfig {
            file: None,
            format: Format::Legacy,
            mode: AuditMode::Batch(BatchOptions {
                waiting_max: 10_000,
                events_max: 1,
                wait_max: Duration::from_secs(2),
                throttle: Some(Throttle { per_second: 0.5, burst: 3 }),
            }),
            truncate: Some(TruncateOptions { event_bytes_max: 102_400, batch_bytes_max: 10_485_760 }),
        };
        assert_eq!(super::log(&flags(line)), Some(expected));
    }

    #[test]
    fn flags_are_refused_in_upstreams_words() {
        let check = |line: &str, expected: &[&str]| {
            let mut errors = Vec::new();
            check(&flags(&format!("--audit-log-path=- {line}")), &mut errors);
            assert_eq!(errors, expected, "{line}");
        };
        check("", &[]);
        check(
            "--audit-log-mode=fast",
            &["invalid audit log mode fast, allowed modes are \"batch,blocking,blocking-strict\""],
        );
        check(
            "--audit-log-mode=batch --audit-log-batch-buffer-size=0",
            &["invalid audit batch log buffer size 0, must be a positive number"],
        );
        check(
            "--audit-log-mode=batch --audit-log-batch-throttle-enable",
            &["invalid audit batch log throttle QPS 0, must be a positive number"],
        );
        check(
            "--audit-log-truncate-max-event-size=0",
            &["invalid audit truncate log max event size 0, must be a positive number"],
        );
        check(
            "--audit-log-truncate-max-batch-size=5",
            &["invalid audit truncate log max batch size 5, must be greater than max event size (102400)"],
        );
        check(
            "--audit-log-version=audit.k8s.io/v1beta1",
            &["invalid group version, allowed versions are [\"audit.k8s.io/v1\"]"],
        );
        check(
            "--audit-log-format=xml --audit-log-maxage=-1",
            &[
                "invalid audit log format xml, allowed formats are \"legacy,json\"",
                "--audit-log-maxage -1 can't be a negative number",
            ],
        );
    }
}
