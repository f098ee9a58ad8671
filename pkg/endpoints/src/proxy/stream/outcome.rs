//! Result of a command in a container: from the kubelet's error stream to the status for the client.

use apimachinery::foreign_text::ForeignText;
use apimachinery::status::{Cause, Details, Reason, Status};
use serde_json::Value;

/// Reason of a status for a command that returned an exit code other than 0.
const NON_ZERO_EXIT_CODE: &str = "NonZeroExitCode";
/// Reason of the cause that contains the exit code.
const EXIT_CODE: &str = "ExitCode";

/// Version of the SPDY protocol for commands. Later ones contain what the earlier ones have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    V1,
    V2,
    /// With a stream for the terminal's size.
    V3,
    /// With a `Status` on the error stream.
    V4,
    V5,
}

impl Version {
    /// All versions with their protocol names, best first.
    pub(super) const ALL: [(Version, &'static str); 5] = [
        (Version::V5, super::CHANNEL_PROTOCOL),
        (Version::V4, "v4.channel.k8s.io"),
        (Version::V3, "v3.channel.k8s.io"),
        (Version::V2, "v2.channel.k8s.io"),
        (Version::V1, "channel.k8s.io"),
    ];

    /// Returns the version that the kubelet chose. A kubelet that names none supports the first one.
    pub(super) fn chosen(name: &str) -> Option<Self> {
        if name.is_empty() {
            return Some(Version::V1);
        }
        Version::ALL.iter().find(|(_, known)| *known == name).map(|(version, _)| *version)
    }
}

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Success,
    /// The command ended with this code.
    ExitCode(u8),
    /// The command or the connection to the kubelet failed.
    Failure(String),
}

impl Outcome {
    /// Interprets the complete content of the kubelet's error stream. `lost` is the failure if it is empty although this
    /// version requires a status.
    pub(super) fn of_message(version: Version, message: &[u8], lost: &str) -> Self {
        if version >= Version::V4 {
            return if message.is_empty() { Outcome::Failure(lost.to_owned()) } else { of_status(message) };
        }
        if message.is_empty() {
            return Outcome::Success;
        }
        let message = String::from_utf8_lossy(message);
        Outcome::Failure(format!("error executing remote command: {message}"))
    }

    /// Returns the status for the client.
    pub(super) fn status(&self) -> Status {
        match self {
            Outcome::Success => {
                let mut status = Status::success(Details::default()).without_kind();
                status.details = None;
                status
            }
            Outcome::ExitCode(code) => {
                let message = format!(
                    "command terminated with non-zero exit code: command terminated with exit code {code}"
                );
                let cause =
                    Cause { reason: EXIT_CODE.to_owned(), message: code.to_string(), ..Cause::default() };
                Status::failure(0, Reason::from(NON_ZERO_EXIT_CODE), message)
                    .without_kind()
                    .with_details(Details { causes: vec![cause], ..Details::default() })
            }
            Outcome::Failure(text) => Status::internal_error(text.as_str()).without_kind(),
        }
    }

    /// Returns the code for metrics. An exit code means that the connection worked.
    pub(super) fn code(&self) -> u16 {
        match self {
            Outcome::Success | Outcome::ExitCode(_) => 200,
            Outcome::Failure(_) => 500,
        }
    }
}

/// Interprets a `Status` (upstream's `errorDecoderV4`).
fn of_status(message: &[u8]) -> Outcome {
    let broken = |text: &str| Outcome::Failure(format!("error stream protocol error: {text}"));
    let status: Value = match serde_json::from_slice(message) {
        Ok(status) => status,
        Err(error) => return broken(&format!("{error} in {}", ForeignText::from_bytes(message).quoted())),
    };
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match &*text(&status, "status") {
        "Success" => Outcome::Success,
        "Failure" if text(&status, "reason") == NON_ZERO_EXIT_CODE => {
            let Some(details) = status.get("details").filter(|details| details.is_object()) else {
                return broken("details must be set");
            };
            let mut causes = details.get("causes").and_then(Value::as_array).into_iter().flatten();
            let Some(cause) = causes.find(|cause| text(cause, "reason") == EXIT_CODE) else {
                return broken("no ExitCode cause given");
            };
            let code = text(cause, "message");
            let invalid =
                || broken(&format!("invalid exit code value {}", ForeignText::from(&*code).quoted()));
            // Go accepts no sign.
            let number =
                Some(&*code).filter(|code| !code.starts_with('+')).and_then(|code| code.parse().ok());
            number.map_or_else(invalid, Outcome::ExitCode)
        }
        "Failure" => Outcome::Failure(text(&status, "message")),
        _ => broken("unknown error"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> Outcome {
        Outcome::Failure(text.to_owned())
    }

    #[test]
    fn status_of_kubelet_is_interpreted() {
        let check = |message: &str, expected: Outcome| {
            assert_eq!(Outcome::of_message(Version::V4, message.as_bytes(), "lost"), expected, "{message}");
        };
        let exit = |details: &str| {
            format!(r#"{{"status":"Failure","reason":"NonZeroExitCode","details":{details}}}"#)
        };
        check("", failure("lost"));
        check(r#"{"metadata":{},"status":"Success"}"#, Outcome::Success);
        check(r#"{"status":"Failure","message":"no such file"}"#, failure("no such file"));
        check(
            &exit(r#"{"causes":[{"reason":"x"},{"reason":"ExitCode","message":"42"}]}"#),
            Outcome::ExitCode(42),
        );
        check(&exit("null"), failure("error stream protocol error: details must be set"));
        check(&exit("{}"), failure("error stream protocol error: no ExitCode cause given"));
        check(
            &exit(r#"{"causes":[{"reason":"ExitCode","message":"256"}]}"#),
            failure("error stream protocol error: invalid exit code value \"256\""),
        );
        check(
            &exit(r#"{"causes":[{"reason":"ExitCode","message":"+42"}]}"#),
            failure("error stream protocol error: invalid exit code value \"+42\""),
        );
        check("{}", failure("error stream protocol error: unknown error"));
        assert!(
            matches!(Outcome::of_message(Version::V4, b"x", ""), Outcome::Failure(text) if text.ends_with("in \"x\""))
        );
    }

    #[test]
    fn old_versions_send_text() {
        assert_eq!(Outcome::of_message(Version::V3, b"", "lost"), Outcome::Success);
        let expected = failure("error executing remote command: x");
        assert_eq!(Outcome::of_message(Version::V3, b"x", "lost"), expected);
    }

    #[test]
    fn client_gets_a_status_without_kind() {
        let check = |outcome: Outcome, expected: &str| {
            assert_eq!(serde_json::to_string(&outcome.status()).unwrap_or_default(), expected);
        };
        check(Outcome::Success, r#"{"metadata":{},"status":"Success"}"#);
        check(
            Outcome::ExitCode(3),
            r#"{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: command terminated with exit code 3","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}"#,
        );
        check(
            failure("x"),
            r#"{"metadata":{},"status":"Failure","message":"Internal error occurred: x","reason":"InternalError","details":{"causes":[{"message":"x"}]},"code":500}"#,
        );
    }

    #[test]
    fn unknown_version_is_rejected() {
        assert_eq!(Version::chosen("v4.channel.k8s.io"), Some(Version::V4));
        assert_eq!(Version::chosen(""), Some(Version::V1));
        assert_eq!(Version::chosen("v6.channel.k8s.io"), None);
    }
}
