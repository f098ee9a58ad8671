//! Places that receive data from other programs must bound the text that they keep of it. The check finds the calls, and
//! requires `apimachinery::foreign_text` in the same file.

/// Calls that return data of another program, without white space.
const RECEIVERS: [&str; 14] = [
    "webhook.call(",
    ".call_once(",
    "client.call(",
    "client.send(",
    "network.send(",
    "socket.call(",
    "calls.call(",
    "caller.call(",
    "calls.opening(",
    ".post_review(",
    ".streaming(",
    ".read_until(",
    "client.unary(",
    "Command::new(",
];

/// Names that bound text, or whose values are bounded.
const BOUNDS: [&str; 3] = ["ForeignText", "failure_text", "worded("];

/// Files that keep no text of what they receive, with the reason.
const EXCUSED: &[(&str, &str)] = &[
    ("pkg/aggregator/src/aggregation/remote.rs", "returns documents; keeps the status code of a failure"),
    ("pkg/apiextensions/src/custom_resources/conversion.rs", "conversion/review.rs reads the response"),
    ("pkg/authorization/src/webhook.rs", "webhook/review.rs reads the response"),
    ("pkg/client/src/exec.rs", "exec/credential.rs reads the output"),
    ("pkg/controlplane/src/admission_webhooks/calls.rs", "admission::webhook reads the response"),
    ("pkg/controlplane/src/authorizers/calls.rs", "authorization::webhook reads the response"),
    ("pkg/controlplane/src/image_reviews.rs", "admission::image_policy reads the response"),
    ("pkg/controlplane/src/run/audit/webhook.rs", "does not read the response"),
    ("pkg/endpoints/src/proxy.rs", "passes responses on"),
    ("pkg/kms/src/plugin/v2.rs", "v2/probe.rs and v2/object.rs check the members"),
];

fn receives(text: &str) -> bool {
    let code = text.split("\nmod tests {").next().unwrap_or_default();
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code: String = code.split_whitespace().collect();
    RECEIVERS.iter().any(|call| code.contains(call))
}

/// Returns the files that receive text and do not bound it, and needless excuses.
pub(crate) fn findings(sources: &[(String, String)]) -> Vec<String> {
    findings_with(sources, EXCUSED)
}

fn findings_with(sources: &[(String, String)], excused: &[(&str, &str)]) -> Vec<String> {
    let unbounded = |text: &str| receives(text) && !BOUNDS.iter().any(|bound| text.contains(bound));
    let unbounded_files: Vec<&str> =
        sources.iter().filter(|(_, text)| unbounded(text)).map(|(path, _)| path.as_str()).collect();
    let is_excused = |path: &str| excused.iter().any(|(of, _)| *of == path);
    let missing = unbounded_files.iter().filter(|path| !is_excused(path)).map(|path| {
        format!("{path} receives data of another program and does not name {}", BOUNDS.join(", "))
    });
    let unneeded = excused.iter().filter(|(path, _)| !unbounded_files.contains(path));
    missing.chain(unneeded.map(|(path, _)| format!("{path} needs no entry in tidy/foreign.rs"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unbounded_receiver_is_found() {
        let check = |text: &str, expected: usize| {
            let sources = [("a.rs".to_owned(), text.to_owned())];
            assert_eq!(findings_with(&sources, &[]).len(), expected, "{text}");
        };
        check("let body = self\n    .webhook\n    .call(review, tell).await;", 1);
        check("let body = client.call(r); ForeignText::from_bytes(&body)", 0);
        check("let body = read();", 0);
        check("// client.call(r)", 0);
        check("#[cfg(test)]\nmod tests { fn t() { client.call(r) } }", 0);
    }

    #[test]
    fn needless_excuse_is_found() {
        let sources = [("a.rs".to_owned(), "client.call(r)".to_owned())];
        assert_eq!(findings_with(&sources, &[("a.rs", "passes it on")]), [""; 0]);
        assert_eq!(findings_with(&[], &[("a.rs", "passes it on")]).len(), 1);
    }
}
