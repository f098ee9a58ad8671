//! Property test: after any sequence of writes, the allocations match the services.

use super::*;

const FAMILIES: &[&[&str]] =
    &[&["10.0.0.0/27"], &["10.0.0.0/27", "fd00::/123"], &["fd00::/123", "10.0.0.0/27"]];
const SEEDS: u64 = 24;
const STEPS: usize = 40;

fn pick<'a, T>(numbers: &Numbers, from: &'a [T]) -> &'a T {
    &from[numbers.below(u32::try_from(from.len()).unwrap()) as usize]
}

/// Any spec that a client might send, valid or not.
fn any_spec(numbers: &Numbers) -> Value {
    let mut spec = json!({"type": pick(numbers, &["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"])});
    let port = |number: u32| {
        json!({"name": format!("p{number}"), "port": 80 + number / 2,
        "protocol": if number.is_multiple_of(2) { "TCP" } else { "UDP" }})
    };
    let mut ports: Vec<Value> = (0..numbers.below(4)).map(port).collect();
    for port in &mut ports {
        if numbers.below(4) == 0 {
            port["nodePort"] = (29_998 + i64::from(numbers.below(20))).into();
        }
    }
    spec["ports"] = ports.into();
    let maybe = |spec: &mut Value, name: &str, values: &[Value]| match numbers.below(3) {
        0 => spec[name] = pick(numbers, values).clone(),
        1 => spec[name] = Value::Null,
        _ => {}
    };
    maybe(&mut spec, "externalTrafficPolicy", &[json!("Local"), json!("Cluster")]);
    maybe(&mut spec, "healthCheckNodePort", &[json!(30_050), json!(30_051), json!(7)]);
    maybe(&mut spec, "allocateLoadBalancerNodePorts", &[json!(true), json!(false)]);
    maybe(&mut spec, "externalName", &[json!("e.example")]);
    maybe(&mut spec, "selector", &[json!({"a": "b"})]);
    maybe(
        &mut spec,
        "ipFamilyPolicy",
        &[json!("SingleStack"), json!("PreferDualStack"), json!("RequireDualStack")],
    );
    maybe(&mut spec, "ipFamilies", &[json!(["IPv4"]), json!(["IPv6"]), json!(["IPv4", "IPv6"])]);
    let addresses =
        [json!("None"), json!("10.0.0.5"), json!("10.0.0.6"), json!("fd00::5"), json!("10.9.9.9")];
    if numbers.below(4) == 0 {
        maybe(&mut spec, "clusterIP", &addresses);
        maybe(
            &mut spec,
            "clusterIPs",
            &[json!(["10.0.0.5"]), json!(["10.0.0.5", "fd00::5"]), json!(["None"])],
        );
    }
    spec
}

#[tokio::test]
async fn allocations_match_services() {
    let mut writes = 0;
    let mut refused = 0;
    for seed in 0..SEEDS {
        let server = Server::with_ranges(FAMILIES[seed as usize % FAMILIES.len()]).await;
        let numbers = Numbers::seeded(seed);
        let mut names: Vec<String> = Vec::new();
        for step in 0..STEPS {
            let spec = any_spec(&numbers);
            let dry_run = numbers.below(8) == 0;
            let name = if names.is_empty() { "s0".to_owned() } else { pick(&numbers, &names).clone() };
            let outcome = match numbers.below(8) {
                0..=2 => {
                    let name = format!("s{}", numbers.below(12));
                    let object = Value::Object(
                        object(spec.clone()).into_iter().filter(|(_, v)| !v.is_null()).collect(),
                    );
                    let result = server.try_post(&name, object, dry_run).await;
                    if result.is_ok() && !dry_run {
                        names.push(name);
                    }
                    result.map(drop)
                }
                7 if !names.is_empty() => {
                    server.delete("services", &name, dry_run).await;
                    names.retain(|other| dry_run || *other != name);
                    Ok(())
                }
                _ if !names.is_empty() => server.edit("", &name, spec.clone(), dry_run).await.map(drop),
                _ => continue,
            };
            if outcome.is_ok() {
                writes += 1
            } else {
                refused += 1
            }
            server.assert_settled(&format!("seed {seed}, step {step}: {name} {spec}")).await;
        }
    }
    assert!(writes > 100 && refused > 100, "{writes} writes and {refused} refusals are no test");
}
