//! Expressions of kubernetes-mixin about API servers: its recording rules, alerts and dashboards with its
//! defaults, for targets of the job `apiserver`.

use serde_json::{Value, json};

const JOB: &str = r#"job="apiserver""#;
/// Selectors of read and write requests as in the mixin, and of requests with a short time limit for single
/// objects.
const READ: &str = r#"verb=~"LIST|GET""#;
const WRITE: &str = r#"verb=~"POST|PUT|PATCH|DELETE""#;
const SHORT: &str = r#"subresource!~"proxy|attach|log|exec|portforward""#;
/// Latency limits: of single objects, of a namespace, of the cluster.
const OBJECT: &str = r#"scope=~"resource|",le=~"1(\\.0)?""#;
const NAMESPACE: &str = r#"scope="namespace",le=~"5(\\.0)?""#;
const CLUSTER: &str = r#"scope="cluster",le=~"30(\\.0)?""#;
const WRITTEN: &str = r#"le=~"1(\\.0)?""#;
/// Long and short windows of error budget burn rates, with their thresholds.
const WINDOWS: [(&str, &str, &str); 4] =
    [("1h", "5m", "14.40"), ("6h", "30m", "6.00"), ("1d", "2h", "3.00"), ("3d", "6h", "1.00")];
const SLI: &str = "apiserver_request_sli_duration_seconds";
const INCREASE: &str = "cluster_verb_scope_le:apiserver_request_sli_duration_seconds_bucket:increase";
const COUNT: &str = "cluster_verb_scope:apiserver_request_sli_duration_seconds_count:increase";

/// Returns all expressions; a recorded series precedes its uses.
pub(super) fn rules() -> Vec<Value> {
    [burn_rates(), latencies(), availability(), alerts(), boards()].concat()
}

fn recorded(record: &str, verb: &str, expr: &str) -> Value {
    let labels = if verb.is_empty() { json!({}) } else { json!({"verb": verb}) };
    json!({"record": record, "labels": labels, "expr": expr})
}

fn plain(expr: impl AsRef<str>) -> Value {
    json!({"expr": expr.as_ref()})
}

/// Returns the shares of failed or slow requests.
fn burn_rates() -> Vec<Value> {
    let windows = WINDOWS.iter().flat_map(|(long, short, _)| [long, short]);
    let rates = windows.flat_map(|window| {
        let sum =
            |series: &str, by: &str| format!("sum by (cluster) (rate({series}{{{JOB},{by}}}[{window}]))");
        let within = |by: &str| sum(&format!("{SLI}_bucket"), by);
        let slow = |verb: &str, quick: &str| {
            format!("{} - ({quick})", sum(&format!("{SLI}_count"), &format!("{verb},{SHORT}")))
        };
        let burnt = |verb: &str, slow: String| {
            let errors = format!("{verb},code=~\"5..\"");
            let all = "apiserver_request_total";
            format!("(({slow}) + {}) / {}", sum(all, &errors), sum(all, verb))
        };
        let quick = format!(
            "({} or vector(0)) + {} + {}",
            within(&format!("{READ},{SHORT},{OBJECT}")),
            within(&format!("{READ},{SHORT},{NAMESPACE}")),
            within(&format!("{READ},{SHORT},{CLUSTER}"))
        );
        let written = within(&format!("{WRITE},{SHORT},{WRITTEN}"));
        let record = format!("apiserver_request:burnrate{window}");
        [
            recorded(&record, "read", &burnt(READ, slow(READ, &quick))),
            recorded(&record, "write", &burnt(WRITE, slow(WRITE, &written))),
        ]
    });
    rates.collect()
}

fn latencies() -> Vec<Value> {
    let record = "cluster_quantile:apiserver_request_sli_duration_seconds:histogram_quantile";
    let rule = |(name, verb): (&str, &str)| {
        let rate = format!("sum by (cluster, le, resource) (rate({SLI}_bucket{{{JOB},{verb},{SHORT}}}[5m]))");
        recorded(record, name, &format!("histogram_quantile(0.99, {rate}) > 0"))
    };
    [("read", READ), ("write", WRITE)].map(rule).to_vec()
}

/// Returns the availability over thirty days.
fn availability() -> Vec<Value> {
    let total = "apiserver_request_total";
    let verbs = r#"verb=~"LIST|GET|POST|PUT|PATCH|DELETE""#;
    let hour = |code: &str| {
        let expr =
            format!("sum by (cluster, code, verb) (increase({total}{{{JOB},{verbs},code=~\"{code}\"}}[1h]))");
        recorded(&format!("code_verb:{total}:increase1h"), "", &expr)
    };
    let month = format!("code_verb:{total}:increase30d");
    let mut rules = ["2..", "3..", "4..", "5.."].map(hour).to_vec();
    rules.push(recorded(&month, "", &format!("avg_over_time(code_verb:{total}:increase1h[30d]) * 24 * 30")));
    for (name, verb) in [("read", READ), ("write", WRITE)] {
        let expr = format!("sum by (cluster, code) ({month}{{{verb}}})");
        rules.push(recorded(&format!("code:{total}:increase30d"), name, &expr));
        let expr = format!("sum by (cluster, code, resource) (rate({total}{{{JOB},{verb}}}[5m]))");
        rules.push(recorded(&format!("code_resource:{total}:rate5m"), name, &expr));
    }
    let by = "cluster, verb, scope";
    let hours = format!("{INCREASE}1h");
    let month = format!("{INCREASE}30d");
    let expr = format!("sum by ({by}, le) (increase({SLI}_bucket[1h]))");
    rules.push(recorded(&hours, "", &expr));
    let expr = format!("sum by ({by}, le) (avg_over_time({hours}[30d]) * 24 * 30)");
    rules.push(recorded(&month, "", &expr));
    for (record, of) in [("1h", &hours), ("30d", &month)] {
        let expr = format!("sum by ({by}) ({of}{{le=\"+Inf\"}})");
        rules.push(recorded(&format!("{COUNT}{record}"), "", &expr));
    }
    rules.extend(available(&month));
    rules
}

fn available(month: &str) -> [Value; 3] {
    let count = format!("{COUNT}30d");
    let codes = "code:apiserver_request_total:increase30d";
    let sum = |series: &str, or: &str| format!("sum by (cluster) ({series} or vector({or}))");
    let quick = |by: &str| sum(&format!("{month}{{{by}}}"), "0");
    let written =
        format!("({} - {})", sum(&format!("{count}{{{WRITE}}}"), "0"), quick(&format!("{WRITE},{WRITTEN}")));
    let scopes = [OBJECT, NAMESPACE, CLUSTER].map(|scope| quick(&format!("{READ},{scope}"))).join(" + ");
    let read = format!("({} - ({scopes}))", sum(&format!("{count}{{{READ}}}"), "0"));
    let rule = |name: &str, slow: &str, verb: &str| {
        let errors = sum(&format!("{codes}{{{verb}code=~\"5..\"}}"), "0");
        let all = sum(&format!("{codes}{{{verb}}}"), "1");
        recorded("apiserver_request:availability30d", name, &format!("1 - ({slow} + {errors}) / {all}"))
    };
    [
        rule("all", &format!("{written} + {read}"), ""),
        rule("read", &read, "verb=\"read\","),
        rule("write", &written, "verb=\"write\","),
    ]
}

fn alerts() -> Vec<Value> {
    let burns = WINDOWS.map(|(long, short, rate)| {
        let burns = |window: &str| {
            format!("sum by (cluster) (apiserver_request:burnrate{window}) > ({rate} * 0.01000)")
        };
        plain(format!("{} and on (cluster) {}", burns(long), burns(short)))
    });
    let expiration = "apiserver_client_certificate_expiration_seconds";
    let expires = ["604800", "86400"].map(|seconds| {
        plain(format!(
            "histogram_quantile(0.01, sum without (namespace, service, endpoint) (rate({expiration}_bucket{{{JOB}}}[5m]))) \
             < {seconds} and on (job, cluster, instance) {expiration}_count{{{JOB}}} > 0"
        ))
    });
    let terminated = format!("sum by (cluster) (rate(apiserver_request_terminations_total{{{JOB}}}[10m]))");
    let others = [
        format!(
            "sum by (cluster, instance, name, reason) (increase(aggregator_unavailable_apiservice_total{{{JOB}}}[1m])) > 0"
        ),
        format!(
            "(1 - max by (name, namespace, cluster) (avg_over_time(aggregator_unavailable_apiservice{{{JOB}}}[10m]))) * 100 < 85"
        ),
        format!("absent(up{{{JOB}}} == 1)"),
        format!(
            "{terminated} / (sum by (cluster) (rate(apiserver_request_total{{{JOB}}}[10m])) + {terminated}) > 0.20"
        ),
        "count by (cluster) (count by (git_version, cluster) (label_replace(kubernetes_build_info{job!~\"kube-dns|coredns\"}, \
         \"git_version\", \"$1\", \"git_version\", \"(v[0-9]*.[0-9]*).*\"))) > 1"
            .to_owned(),
        format!(
            "sum by (cluster, instance, job, namespace) (rate(rest_client_requests_total{{{JOB},code=~\"5..\"}}[5m])) \
             / sum by (cluster, instance, job, namespace) (rate(rest_client_requests_total{{{JOB}}}[5m])) > 0.01"
        ),
    ];
    burns.into_iter().chain(expires).chain(others.map(plain)).collect()
}

fn boards() -> Vec<Value> {
    let read = "cluster_quantile:apiserver_request_sli_duration_seconds:histogram_quantile{verb=\"read\"}";
    let queue = "workqueue_queue_duration_seconds_bucket";
    [
        "apiserver_request:availability30d{verb=\"all\"}".to_owned(),
        "sum by (code) (code_resource:apiserver_request_total:rate5m{verb=\"write\"})".to_owned(),
        "sum by (resource) (code_resource:apiserver_request_total:rate5m{verb=\"read\",code=~\"5..\"}) \
         / sum by (resource) (code_resource:apiserver_request_total:rate5m{verb=\"read\"})"
            .to_owned(),
        read.to_owned(),
        format!("sum by (instance, name) (rate(workqueue_adds_total{{{JOB}}}[5m]))"),
        format!("sum by (instance, name) (rate(workqueue_depth{{{JOB}}}[5m]))"),
        format!("histogram_quantile(0.99, sum by (instance, name, le) (rate({queue}{{{JOB}}}[5m])))"),
        format!("process_resident_memory_bytes{{{JOB}}}"),
        format!("rate(process_cpu_seconds_total{{{JOB}}}[5m])"),
    ]
    .map(plain)
    .to_vec()
}
