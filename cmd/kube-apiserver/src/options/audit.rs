//! `--audit-*`: audit policy and backends.

use std::path::PathBuf;
use std::time::Duration;

use controlplane::config::{
    AuditConfig, AuditLogConfig, AuditMode, AuditWebhookConfig, BatchOptions, FileOptions, Format, Throttle,
    TruncateOptions,
};

use super::path;
use crate::flags::Flags;

const MODES: [&str; 3] = ["batch", "blocking", "blocking-strict"];
const FORMATS: [&str; 2] = ["legacy", "json"];
const VERSION: &str = "audit.k8s.io/v1";
/// Path that stands for standard output.
const STDOUT: &str = "-";
const MEGABYTE: u64 = 1024 * 1024;
/// Maximum of the configurable event queue length.
const WAITING_MAX: usize = 1_000_000;

/// Builds the audit configuration.
pub(super) fn config(flags: &Flags) -> AuditConfig {
    AuditConfig { policy_file: path(flags, "audit-policy-file"), log: log(flags), webhook: webhook(flags) }
}

fn log(flags: &Flags) -> Option<AuditLogConfig> {
    let path = flags.optional("audit-log-path")?;
    let file = (path != STDOUT).then(|| FileOptions {
        path: PathBuf::from(path),
        bytes_max: u64::try_from(flags.int("audit-log-maxsize"))
            .ok()
            .filter(|megabytes| *megabytes > 0)
            .map(|megabytes| megabytes.saturating_mul(MEGABYTE)),
        backups_max: positive(flags, "audit-log-maxbackup"),
        days_max: u32::try_from(flags.int("audit-log-maxage")).unwrap_or(u32::MAX),
        compress: flags.bool("audit-log-compress"),
    });
    let format = Format::parse(flags.text("audit-log-format")).unwrap_or(Format::Json);
    Some(AuditLogConfig { file, format, mode: mode(flags, "log"), truncate: truncate(flags, "log") })
}

fn webhook(flags: &Flags) -> Option<AuditWebhookConfig> {
    let old = "audit-webhook-batch-initial-backoff";
    let wait = if flags.is_set(old) { old } else { "audit-webhook-initial-backoff" };
    Some(AuditWebhookConfig {
        config_file: path(flags, "audit-webhook-config-file")?,
        initial_wait: Duration::from_nanos(u64::try_from(flags.nanos(wait)).unwrap_or(0)),
        mode: mode(flags, "webhook"),
        truncate: truncate(flags, "webhook"),
    })
}

fn positive(flags: &Flags, name: &str) -> usize {
    usize::try_from(flags.int(name)).unwrap_or(0)
}

fn truncate(flags: &Flags, of: &str) -> Option<TruncateOptions> {
    flags.bool(&format!("audit-{of}-truncate-enabled")).then(|| TruncateOptions {
        event_bytes_max: positive(flags, &format!("audit-{of}-truncate-max-event-size")),
        batch_bytes_max: positive(flags, &format!("audit-{of}-truncate-max-batch-size")),
    })
}

fn mode(flags: &Flags, of: &str) -> AuditMode {
    match flags.text(&format!("audit-{of}-mode")) {
        "batch" => AuditMode::Batch(batch(flags, of)),
        "blocking-strict" => AuditMode::BlockingStrict,
        _ => AuditMode::Blocking,
    }
}

fn batch(flags: &Flags, of: &str) -> BatchOptions {
    let name = |name: &str| format!("audit-{of}-batch-{name}");
    let throttle = flags.bool(&name("throttle-enable")).then(|| Throttle {
        per_second: flags.float(&name("throttle-qps")),
        burst: u32::try_from(flags.int(&name("throttle-burst"))).unwrap_or(u32::MAX),
    });
    BatchOptions {
        waiting_max: positive(flags, &name("buffer-size")).clamp(1, WAITING_MAX),
        events_max: positive(flags, &name("max-size")).max(1),
        wait_max: Duration::from_nanos(u64::try_from(flags.nanos(&name("max-wait"))).unwrap_or(0)),
        throttle,
    }
}

/// Checks the flags, with upstream's error texts. Flags of a backend are ignored if it is not configured.
pub(super) fn check(flags: &Flags, errors: &mut Vec<String>) {
    if flags.optional("audit-log-path").is_some() {
        check_backend(flags, "log", errors);
        let format = flags.text("audit-log-format");
        if !FORMATS.contains(&format) {
            let allowed = FORMATS.join(",");
            errors.push(format!("invalid audit log format {format}, allowed formats are {allowed:?}"));
        }
        for name in ["audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize"] {
            let value = flags.int(name);
            if value < 0 {
                errors.push(format!("--{name} {value} can't be a negative number"));
            }
        }
    }
    if flags.optional("audit-webhook-config-file").is_some() {
        check_backend(flags, "webhook", errors);
    }
}

fn check_backend(flags: &Flags, of: &str, errors: &mut Vec<String>) {
    let mode = flags.text(&format!("audit-{of}-mode"));
    if !MODES.contains(&mode) {
        errors.push(format!("invalid audit {of} mode {mode}, allowed modes are {:?}", MODES.join(",")));
    } else if mode == "batch" {
        errors.extend(check_batch(flags, of));
    }
    let bytes = |what: &str| flags.int(&format!("audit-{of}-truncate-max-{what}-size"));
    let event = bytes("event");
    let batch = bytes("batch");
    if event <= 0 {
        errors.push(format!("invalid audit truncate {of} max event size {event}, must be a positive number"));
    } else if batch < event {
        errors.push(format!(
            "invalid audit truncate {of} max batch size {batch}, must be greater than max event size ({event})"
        ));
    }
    if flags.text(&format!("audit-{of}-version")) != VERSION {
        errors.push(format!("invalid group version, allowed versions are [{VERSION:?}]"));
    }
}

/// Returns the first error in the batching flags.
fn check_batch(flags: &Flags, of: &str) -> Option<String> {
    let name = |name: &str| format!("audit-{of}-batch-{name}");
    let wrong = |setting: &str, value: &str| {
        format!("invalid audit batch {of} {setting} {value}, must be a positive number")
    };
    for (flag, setting) in [("buffer-size", "buffer size"), ("max-size", "max batch size")] {
        let value = flags.int(&name(flag));
        if value <= 0 {
            return Some(wrong(setting, &value.to_string()));
        }
    }
    if !flags.bool(&name("throttle-enable")) {
        return None;
    }
    let rate = flags.float(&name("throttle-qps"));
    let burst = flags.int(&name("throttle-burst"));
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
    fn flags_configure_the_log_backend() {
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
    fn flags_configure_the_webhook_backend() {
        let expected = AuditWebhookConfig {
            config_file: PathBuf::from("/x"),
            initial_wait: Duration::from_secs(10),
            mode: AuditMode::Batch(BatchOptions {
                waiting_max: 10_000,
                events_max: 400,
                wait_max: Duration::from_secs(30),
                throttle: Some(Throttle { per_second: 10.0, burst: 15 }),
            }),
            truncate: None,
        };
        assert_eq!(webhook(&flags("--audit-webhook-config-file=/x")), Some(expected));
        let old = webhook(&flags("--audit-webhook-config-file=/x --audit-webhook-batch-initial-backoff=1s"));
        assert_eq!(old.map(|webhook| webhook.initial_wait), Some(Duration::from_secs(1)));
    }

    #[test]
    fn errors_equal_upstreams() {
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
