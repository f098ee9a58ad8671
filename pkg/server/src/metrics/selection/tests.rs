//! Tests of the metrics filter.

use super::*;

const PAGE: &str = "\
# HELP hits_total [STABLE] Hits.
# TYPE hits_total counter
hits_total{code=\"200\",path=\"/a\"} 3
hits_total{code=\"404\",path=\"/a\"} 2
hits_total{code=\"500\",path=\"/a\"} 5
hits_total{code=\"500\",path=\"a\\\",b=\\\"\"} 1
# HELP waiting Waiting.
# TYPE waiting gauge
waiting{kind=\"read\"} 7
waiting{kind=\"write\"} 1
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{verb=\"GET\",le=\"1\"} 1
took_seconds_bucket{verb=\"GET\",le=\"+Inf\"} 2
took_seconds_sum{verb=\"GET\"} 1.5
took_seconds_count{verb=\"GET\"} 2
took_seconds_bucket{verb=\"PUT\",le=\"1\"} 4
took_seconds_bucket{verb=\"PUT\",le=\"+Inf\"} 4
took_seconds_sum{verb=\"PUT\"} 0.25
took_seconds_count{verb=\"PUT\"} 4
# HELP cardinality_enforcement_unexpected_categorizations_total Unexpected.
# TYPE cardinality_enforcement_unexpected_categorizations_total counter
cardinality_enforcement_unexpected_categorizations_total 0
# HELP disabled_metrics_total Disabled.
# TYPE disabled_metrics_total counter
disabled_metrics_total 0
";

fn allowing(pairs: &[(&str, &str)]) -> Result<Selection, String> {
    Selection::default().with_allowed(pairs.iter().copied())
}

/// Samples of a family on the filtered page.
fn samples(selection: &Selection, family: &str) -> Vec<String> {
    let page = selection.apply(PAGE.to_owned());
    page.lines().filter(|line| line.starts_with(family)).map(str::to_owned).collect()
}

#[test]
fn page_is_unchanged_without_filter() {
    assert_eq!(Selection::default().apply(PAGE.to_owned()), PAGE);
}

#[test]
fn disallowed_values_are_merged_and_counted() -> Result<(), String> {
    let selection = allowing(&[("hits_total,code", "200,201")])?;
    assert_eq!(
        samples(&selection, "hits_total"),
        [
            "hits_total{code=\"200\",path=\"/a\"} 3",
            "hits_total{code=\"unexpected\",path=\"/a\"} 7",
            "hits_total{code=\"unexpected\",path=\"a\\\",b=\\\"\"} 1",
        ]
    );
    let total = "cardinality_enforcement_unexpected_categorizations_total";
    assert_eq!(samples(&selection, total), [format!("{total} 8")]);
    assert_eq!(samples(&selection, "waiting").len(), 2);
    Ok(())
}

#[test]
fn values_are_compared_without_their_escapes() -> Result<(), String> {
    let selection = allowing(&[("hits_total,path", "a\"")])?;
    assert_eq!(samples(&selection, "hits_total{code=\"500\"").len(), 1);
    let quoted = Selection::default().with_allowed([("hits_total,path", "/a,x")])?;
    assert!(
        samples(&quoted, "hits_total").contains(&"hits_total{code=\"500\",path=\"unexpected\"} 1".to_owned())
    );
    Ok(())
}

#[test]
fn histograms_are_added_up_bucket_by_bucket() -> Result<(), String> {
    let selection = allowing(&[("took_seconds,verb", "POST"), ("took_seconds,le", "7")])?;
    assert_eq!(
        samples(&selection, "took_seconds"),
        [
            "took_seconds_bucket{verb=\"unexpected\",le=\"1\"} 5",
            "took_seconds_bucket{verb=\"unexpected\",le=\"+Inf\"} 6",
            "took_seconds_sum{verb=\"unexpected\"} 1.75",
            "took_seconds_count{verb=\"unexpected\"} 6",
        ]
    );
    let total = "cardinality_enforcement_unexpected_categorizations_total";
    assert_eq!(samples(&selection, total), [format!("{total} 6")]);
    Ok(())
}

#[test]
fn disabled_families_are_gone_with_all_their_lines() -> Result<(), String> {
    let selection = Selection::default().without(vec!["waiting".to_owned(), "nothing".to_owned()])?;
    let page = selection.apply(PAGE.to_owned());
    assert!(!page.contains("waiting"), "{page}");
    assert!(page.contains("# HELP took_seconds Time.\n"), "{page}");
    assert!(page.ends_with("\ndisabled_metrics_total 2\n"), "{page}");
    Ok(())
}

#[test]
fn names_of_another_form_are_refused() {
    let check = |key: &str| assert_eq!(allowing(&[(key, "x")]).err().as_deref(), Some(key), "{key:?}");
    for key in ["", "hits", "hits,", ",code", "1hits,code", "hits,co:de", "hits,code,more", "hits code,x"] {
        check(key);
    }
    assert!(allowing(&[("a:b_1,c_2", "")]).is_ok());
    let disabled = |name: &str| Selection::default().without(vec![name.to_owned()]).err();
    assert_eq!(disabled("a b").as_deref(), Some("a b"));
    assert_eq!(disabled("").as_deref(), Some(""));
    assert_eq!(disabled("a:b"), None);
}

#[test]
fn manifests_are_maps_of_texts() {
    let check = |text: &str, expected: Result<&[(&str, &str)], &str>| {
        let got = Selection::read_manifest(text);
        let expected =
            expected.map(|pairs| pairs.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect());
        assert_eq!(got, expected.map_err(str::to_owned), "{text:?}");
    };
    check("", Ok(&[]));
    check("\"a,b\": \"1,2\"\n\"a,c\": 200\n", Ok(&[("a,b", "1,2"), ("a,c", "200")]));
    check("a:\n  b: c\n", Err("the value of \"a\" is not a text"));
    check("- a", Err("it is not a map"));
}

#[test]
fn invalid_pages_are_tolerated() -> Result<(), String> {
    let selection = allowing(&[("x,y", "1")])?.without(vec!["z".to_owned()])?;
    for page in
        ["", "\n", "# HELP", "# TYPE x counter\nx{", "# TYPE x counter\nx{y=\"\\\nx{y=\"2\"", "x{y=\"2\"} é"]
    {
        let _ = selection.apply(page.to_owned());
    }
    Ok(())
}
