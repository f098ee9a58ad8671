//! Tests of the metrics page.

use super::*;

fn check(registry: &MetricsRegistry, lines: &[&str]) {
    let page = registry.to_string();
    for line in lines {
        assert!(page.lines().any(|shown| shown == *line), "{line}\n{page}");
    }
}

#[test]
fn metrics_without_plugins_match_upstream() {
    let registry = MetricsRegistry::default();
    let _metrics = KmsMetrics::new(&registry, "");
    let page = registry.to_string();
    let names: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let expected = [
        "apiserver_envelope_encryption_dek_cache_fill_percent gauge",
        "apiserver_storage_data_key_generation_duration_seconds histogram",
        "apiserver_storage_data_key_generation_failures_total counter",
        "apiserver_storage_envelope_transformation_cache_misses_total counter",
    ];
    assert_eq!(names, expected);
}

#[tokio::test(start_paused = true)]
async fn keys_and_calls_are_counted() {
    let registry = MetricsRegistry::default();
    let metrics = KmsMetrics::new(&registry, "server");
    let provider: Arc<str> = "p".into();
    let key: Arc<str> = hash("key-1").into();
    let now = UnixTime { seconds: 12, nanos: 5 };
    metrics.record_call(&provider, "/v2.KeyManagementService/Status", "OK", Duration::from_millis(3));
    metrics.record_use(Direction::FromStorage, &provider, &key, now);
    metrics.record_status_key(&provider, "key-1", now);
    metrics.invalid_key_id(&provider, "too_long");
    metrics.sources(&provider, 3);
    metrics.set_cache_fill(1, 4);
    metrics.record_cache_miss();
    metrics.record_transformation(Direction::ToStorage);
    tokio::time::advance(Duration::from_secs(61)).await;
    metrics.record_transformation(Direction::ToStorage);
    let server = hash("server");
    let labels = format!("apiserver_id_hash=\"{server}\",key_id_hash=\"{key}\",provider_name=\"p\"");
    let used = format!("{{{labels},transformation_type=\"from_storage\"}}");
    let call = "grpc_status_code=\"OK\",method_name=\"/v2.KeyManagementService/Status\",provider_name=\"p\"";
    check(
        &registry,
        &[
            &format!(
                "apiserver_envelope_encryption_kms_operations_latency_seconds_bucket{{{call},le=\"0.0016\"}} 0"
            ),
            &format!(
                "apiserver_envelope_encryption_kms_operations_latency_seconds_bucket{{{call},le=\"0.0032\"}} 1"
            ),
            &format!("apiserver_envelope_encryption_key_id_hash_total{used} 1"),
            &format!("apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds{used} 12.000000005"),
            &format!(
                "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds{{{labels}}} 12.000000005"
            ),
            "apiserver_envelope_encryption_invalid_key_id_from_status_total{error=\"too_long\",provider_name=\"p\"} 1",
            "apiserver_envelope_encryption_dek_source_cache_size{provider_name=\"p\"} 3",
            "apiserver_envelope_encryption_dek_cache_fill_percent 0.25",
            "apiserver_storage_envelope_transformation_cache_misses_total 1",
            "apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds_bucket{transformation_type=\"to_storage\",le=\"60\"} 1",
            "apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds_bucket{transformation_type=\"to_storage\",le=\"120\"} 2",
            "apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds_sum{transformation_type=\"to_storage\"} 61",
        ],
    );
}
