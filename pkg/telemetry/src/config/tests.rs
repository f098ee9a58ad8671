//! Parsing and validation of tracing configurations.

use super::*;

fn check(text: &str, expected: Result<(Option<&str>, Option<i32>), &str>) {
    let got = TracingConfiguration::parse(text.as_bytes());
    let got = got.as_ref().map(|config| (config.endpoint.as_deref(), config.sampling_rate_per_million));
    assert_eq!(got.map_err(Error::to_string), expected.map_err(str::to_owned), "{text}");
}

#[test]
fn all_versions_parse() {
    for version in VERSIONS {
        let text = format!(
            "apiVersion: {GROUP}/{version}\nkind: {KIND}\nendpoint: otel:4317\nsamplingRatePerMillion: 5\n"
        );
        check(&text, Ok((Some("otel:4317"), Some(5))));
    }
    let json = r#"{"apiVersion":"apiserver.config.k8s.io/v1","kind":"TracingConfiguration"}"#;
    check(json, Ok((None, None)));
}

#[test]
fn invalid_files_get_upstream_errors() {
    let read = |rest: &str| {
        format!("failed to read tracing config: unable to decode tracing configuration data: {rest}")
    };
    let of = |version: &str, rest: &str| format!("apiVersion: {version}\nkind: {KIND}\n{rest}");
    let v1 = |rest: &str| of("apiserver.config.k8s.io/v1", rest);
    check(
        &of("apiserver.config.k8s.io/v2", ""),
        Err(&read(
            "no kind \"TracingConfiguration\" is registered for version \"apiserver.config.k8s.io/v2\" in scheme \
             \"k8s.io/apiserver/pkg/server/options/tracing.go:49\"",
        )),
    );
    check("endpoint: a", Err(&read("Object 'Kind' is missing in 'endpoint: a'")));
    check(&v1("endpont: a"), Err(&read("strict decoding error: unknown field \"endpont\"")));
    check(
        &v1("endpoint: a\nendpoint: b"),
        Err(&read(
            "strict decoding error: yaml: unmarshal errors:\n  line 4: key \"endpoint\" already set in map",
        )),
    );
    check(
        &v1("endpoint: 5"),
        Err(&read(
            "json: cannot unmarshal number into Go struct field TracingConfiguration.endpoint of type string",
        )),
    );
    check(
        &v1("samplingRatePerMillion: 3000000000"),
        Err(&read(
            "json: cannot unmarshal number 3000000000 into Go struct field \
             TracingConfiguration.samplingRatePerMillion of type int32",
        )),
    );
}

#[test]
fn out_of_range_values_get_upstream_errors() {
    let check = |rest: &str, expected: Option<&str>| {
        let text = format!("apiVersion: apiserver.config.k8s.io/v1\nkind: {KIND}\n{rest}");
        let got = TracingConfiguration::parse(text.as_bytes()).err().map(|error| error.to_string());
        let expected = expected.map(|why| format!("failed to validate tracing configuration: {why}"));
        assert_eq!(got, expected, "{rest}");
    };
    check("samplingRatePerMillion: 0", None);
    check("samplingRatePerMillion: 1000000", None);
    check(
        "samplingRatePerMillion: -1",
        Some("samplingRatePerMillion: Invalid value: -1: sampling rate must be positive"),
    );
    check(
        "samplingRatePerMillion: 1000001",
        Some(
            "samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or \
             equal to one million",
        ),
    );
    for fine in ["localhost:4317", "dns://[::1]/otel:4317", "unix:///run/otel.sock", "unix-abstract://otel"] {
        check(&format!("endpoint: {fine}"), None);
    }
    check(
        "endpoint: http://localhost:4317",
        Some(
            "endpoint: Invalid value: \"http://localhost:4317\": unsupported scheme: http.  Options are none, dns, \
             unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md",
        ),
    );
}
