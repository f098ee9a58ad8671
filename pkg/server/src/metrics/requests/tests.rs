//! Tests of the request metrics.
#![allow(clippy::unwrap_used)]

use apimachinery::request_info::request_info;

use super::*;

const POD: ResourceLabels<'static> =
    ResourceLabels { group: "", version: "v1", resource: "pods", subresource: "" };

/// Page of the metrics of requests.
fn page_of(requests: &Requests) -> String {
    let selection = component_base::metrics::Selection::default();
    let mut page = Page::new(&selection);
    requests.write(&mut page);
    page.into_text()
}

fn requests() -> Requests {
    let deployment =
        ResourceLabels { group: "apps", version: "v1", resource: "deployments", subresource: "" };
    let log = ResourceLabels { subresource: "log", ..POD };
    Requests::new([deployment, log, POD, ResourceLabels { subresource: "exec", ..POD }])
}

/// Labels of a request given as `METHOD target`: after its response, and while it is active.
fn labels(requests: &Requests, line: &str) -> (Labels, Labels) {
    let (method, target) = line.split_once(' ').unwrap();
    let request = http::Request::builder().method(method).uri(target);
    let request = request.header(CONTENT_TYPE, "application/apply-patch+yaml").body(()).unwrap();
    let (parts, ()) = request.into_parts();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let info = request_info(method, parts.uri.path(), &query).unwrap();
    let labels = requests.labels(&parts, &info, &query);
    (labels, labels.while_running(&info))
}

/// Duration in milliseconds of a request that was not queued.
fn at_once(milliseconds: u64) -> [Duration; 2] {
    [Duration::from_millis(milliseconds), Duration::ZERO]
}

/// Verb, group, version, resource, subresource, scope, dry run.
fn words(requests: &Requests, labels: Labels) -> String {
    let row = requests.rows[usize::from(labels.row)].labels;
    let scope = SCOPES[usize::from(labels.scope)];
    let dry_run = DRY_RUNS[usize::from(labels.dry_run)];
    let words = [labels.verb(), row.group, row.version, row.resource, row.subresource, scope, dry_run];
    words.join("|")
}

#[test]
fn requests_have_upstreams_labels() {
    let requests = requests();
    let check = |line: &str, expected: &str| {
        assert_eq!(words(&requests, labels(&requests, line).0), expected, "{line}");
    };
    check("GET /api/v1/namespaces/a/pods/x", "GET||v1|pods||resource|");
    check("HEAD /api/v1/namespaces/a/pods/x", "GET||v1|pods||resource|");
    check("GET /api/v1/namespaces/a/pods", "LIST||v1|pods||namespace|");
    check("GET /api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx", "LIST||v1|pods||namespace|");
    check("GET /api/v1/pods", "LIST||v1|pods||cluster|");
    check("GET /api/v1/pods?watch=1", "WATCH||v1|pods||cluster|");
    check("GET /api/v1/watch/namespaces/a/pods/x", "WATCH||v1|pods||resource|");
    check("POST /apis/apps/v1/namespaces/a/deployments?dryRun=All", "POST|apps|v1|deployments||resource|All");
    check("PUT /api/v1/namespaces/a/pods/x?dryRun=All&dryRun=no", "PUT||v1|pods||resource|invalid");
    check("PATCH /api/v1/namespaces/a/pods/x", "APPLY||v1|pods||resource|");
    check("DELETE /api/v1/namespaces/a/pods/x", "DELETE||v1|pods||resource|");
    check("DELETE /api/v1/namespaces/a/pods", "DELETE||v1|pods||namespace|");
    check("GET /api/v1/namespaces/a/pods/x/log", "CONNECT||v1|pods|log|resource|");
    check("POST /api/v1/namespaces/a/pods/x/exec", "CONNECT||v1|pods|exec|resource|");
    check("GET /livez", "GET||||/livez||");
    check("GET /livez/ping", "GET||||||");
    check("BREW /api/v1/pods", "other||v1|pods||cluster|");
    check("GET /api/v1/made-up", "LIST|||||cluster|");
    check("GET /apis/apps/v1/namespaces/a/pods/x", "GET|||||resource|");
    check("GET /api/v1/namespaces/a/pods/x/made-up", "GET|||||resource|");
}

#[test]
fn name_selector_narrows_scope_of_active_watch() {
    let requests = requests();
    let (completed, active) = labels(&requests, "GET /api/v1/pods?watch=1&fieldSelector=metadata.name%3Dx");
    assert_eq!(words(&requests, completed), "WATCH||v1|pods||cluster|");
    assert_eq!(words(&requests, active), "WATCH||v1|pods||resource|");
}

#[test]
fn slots_round_trip() {
    for slot in 0..SLOTS {
        assert_eq!(Labels::from_slot(7, slot).slot(), slot);
    }
}

#[test]
fn responses_count_by_code_latency_and_size() {
    let requests = requests();
    let (list, _) = labels(&requests, "GET /api/v1/pods");
    requests.count_response(list, 200, at_once(25), 1000);
    requests.count_response(list, 200, at_once(26), 1001);
    requests.count_response(list, 418, at_once(100_000), 2_000_000_000);
    let (create, _) = labels(&requests, "POST /api/v1/namespaces/a/pods?dryRun=All");
    requests.count_response(create, 201, at_once(1), 10);
    let (exec, _) = labels(&requests, "POST /api/v1/namespaces/a/pods/x/exec");
    requests.count_response(exec, 599, at_once(1), 10);
    let page = page_of(&requests);
    let of_list = "component=\"apiserver\",DRYgroup=\"\",resource=\"pods\",scope=\"cluster\",subresource=\"\",verb=\"LIST\",version=\"v1\"";
    let dry = of_list.replace("DRY", "dry_run=\"\",");
    let plain = of_list.replace("DRY", "");
    for line in [
        format!("apiserver_request_total{{code=\"200\",{dry}}} 2\n"),
        format!("apiserver_request_total{{code=\"400\",{dry}}} 1\n"),
        format!("apiserver_request_duration_seconds_bucket{{{dry},le=\"0.025\"}} 1\n"),
        format!("apiserver_request_duration_seconds_bucket{{{dry},le=\"60\"}} 2\n"),
        format!("apiserver_request_duration_seconds_bucket{{{dry},le=\"+Inf\"}} 3\n"),
        format!("apiserver_request_duration_seconds_sum{{{dry}}} 100.051\n"),
        format!("apiserver_request_duration_seconds_count{{{dry}}} 3\n"),
        format!("apiserver_request_sli_duration_seconds_bucket{{{plain},le=\"0.05\"}} 2\n"),
        format!("apiserver_response_sizes_bucket{{{plain},le=\"1000\"}} 1\n"),
        format!("apiserver_response_sizes_bucket{{{plain},le=\"1e+09\"}} 2\n"),
        format!("apiserver_response_sizes_sum{{{plain}}} 2000002001\n"),
        "code=\"201\",component=\"apiserver\",dry_run=\"All\",group=\"\",resource=\"pods\",".to_owned(),
        "code=\"500\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"pods\",scope=\"resource\",subresource=\"exec\",verb=\"CONNECT\"".to_owned(),
    ] {
        assert!(page.contains(&line), "no {line:?} in\n{page}");
    }
    let sli: Vec<&str> =
        page.lines().filter(|line| line.starts_with("apiserver_request_sli_duration_seconds")).collect();
    assert!(sli.iter().all(|line| !line.contains("\"POST\"") && !line.contains("le=\"0.025\"")), "{sli:?}");
    assert!(
        !page.lines().any(|line| line.starts_with("apiserver_response_sizes") && line.contains("\"POST\"")),
        "{page}"
    );
}

#[test]
fn sli_excludes_queue_time() {
    let requests = requests();
    let (list, _) = labels(&requests, "GET /api/v1/pods");
    requests.count_response(list, 200, [Duration::from_millis(590), Duration::from_millis(500)], 1);
    let page = page_of(&requests);
    let sums =
        [("apiserver_request_duration_seconds", 0.59), ("apiserver_request_sli_duration_seconds", 0.09)]
            .map(|(family, sum)| (format!("{family}_sum{{"), sum));
    for (family, sum) in sums {
        let line = page.lines().find(|line| line.starts_with(&family)).unwrap();
        assert!(line.ends_with(&format!(" {sum}")), "{line}");
    }
}

#[test]
fn open_streams_are_counted() {
    let requests = requests();
    let (_, watch) = labels(&requests, "GET /api/v1/pods?watch=1");
    for (by, expected) in [(1, 1), (1, 2), (-1, 1), (-1, 0)] {
        requests.add_long_running(watch, by);
        let page = page_of(&requests);
        let line = format!("verb=\"WATCH\",version=\"v1\"}} {expected}\n");
        assert!(page.contains(&line), "no {line:?} in\n{page}");
    }
}

#[test]
fn bodies_are_counted_by_resource_and_verb() {
    let status = ResourceLabels { subresource: "status", ..POD };
    let requests = Requests::new([POD, status]);
    for (line, bytes) in [
        ("PUT /api/v1/namespaces/a/pods/x", 60_000),
        ("PUT /api/v1/namespaces/a/pods/x/status", 10),
        ("DELETE /api/v1/namespaces/a/pods", 7),
        ("GET /api/v1/namespaces/a/pods/x", 7),
    ] {
        requests.read(labels(&requests, line).0, bytes);
    }
    let page = page_of(&requests);
    let of = |verb: &str| format!("{{group=\"\",resource=\"pods\",verb=\"{verb}\"}}");
    let name = "apiserver_request_body_size_bytes";
    assert!(
        page.contains(&format!("{name}_sum{} 60010\n{name}_count{} 2\n", of("update"), of("update"))),
        "{page}"
    );
    assert!(page.contains(&format!("{name}_count{} 1\n", of("delete_collection"))), "{page}");
    assert_eq!(page.matches(&format!("{name}_count")).count(), 2, "{page}");
}

#[test]
fn terminations_and_aborts_are_counted_by_labels() {
    let requests = requests();
    let (list, _) = labels(&requests, "GET /api/v1/pods");
    requests.terminated(list, 429);
    requests.terminated(list, 504);
    requests.terminated(list, 504);
    requests.terminated(list, 404);
    requests.aborted(list);
    let page = page_of(&requests);
    let of_list =
        "group=\"\",resource=\"pods\",scope=\"cluster\",subresource=\"\",verb=\"LIST\",version=\"v1\"";
    for line in [
        format!("apiserver_request_terminations_total{{code=\"429\",component=\"apiserver\",{of_list}}} 1\n"),
        format!("apiserver_request_terminations_total{{code=\"504\",component=\"apiserver\",{of_list}}} 2\n"),
        format!("apiserver_request_aborts_total{{{of_list}}} 1\n"),
    ] {
        assert!(page.contains(&line), "no {line} in {page}");
    }
    assert!(!page.contains("code=\"404\""), "{page}");
}

#[test]
fn write_latency_has_field_validation_label() {
    let registry = MetricsRegistry::default();
    let validated = FieldValidationHistograms::new(&registry);
    let requests = requests();
    for (line, milliseconds) in [
        ("POST /api/v1/namespaces/a/pods?fieldValidation=Strict", 70),
        ("POST /api/v1/namespaces/a/pods?fieldValidation=Strict&fieldValidation=Warn", 70),
        ("POST /api/v1/namespaces/a/pods", 70),
        ("GET /api/v1/namespaces/a/pods?fieldValidation=Strict", 70),
    ] {
        let target = line.split_once(' ').unwrap().1;
        let query = Query::parse(target.split_once('?').map_or("", |(_, query)| query));
        let directive = labels(&requests, line).0.directive(&query);
        directive.inspect(|directive| validated.count(*directive, Duration::from_millis(milliseconds)));
    }
    let page = registry.to_string();
    let name = "field_validation_request_duration_seconds";
    assert!(page.contains(&format!("{name}_count{{field_validation=\"Strict\"}} 1\n")), "{page}");
    assert!(page.contains(&format!("{name}_count{{field_validation=\"\"}} 2\n")), "{page}");
    assert!(!page.contains("le=\"0.025\"") && page.contains("le=\"0.05\""), "{page}");
}
