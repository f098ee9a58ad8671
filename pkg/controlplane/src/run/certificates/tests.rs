//! Tests of the selection of the serving certificate.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::test_cluster::TestDir;

const DAY: i64 = 24 * 3600;
/// A fixed time.
const NOW: i64 = 1_700_000_000;

/// Returns the serving certificate of a server that starts at `now`.
fn served(dir: &TestDir, kubeconfig: bool, now: i64) -> String {
    let mut config = Config::for_tests(dir.path().to_owned());
    config.serving.admin_kubeconfig = kubeconfig.then(|| dir.path().join("admin.kubeconfig"));
    let credentials = prepare(&config, &Loopback::new(now).unwrap(), now).unwrap();
    fs::read_to_string(&credentials.files.default.certificate).unwrap()
}

/// Places a foreign pair, valid for one year, at the path of the generated pair.
fn put(dir: &TestDir, now: i64) -> String {
    let authority = authority("somebody", now).unwrap();
    let pair = issue(&authority, "a", &[], &Usage::Server(vec!["localhost".to_owned()]), now).unwrap();
    write_private(&dir.path().join(SERVING.key), &pair.key, Durability::Synced).unwrap();
    write(&dir.path().join(SERVING.certificate), &pair.certificate, 0o644, Durability::Synced).unwrap();
    pair.certificate
}

#[test]
fn foreign_pair_is_used_regardless_of_validity() {
    for kubeconfig in [false, true] {
        let dir = TestDir::new().unwrap();
        let put = put(&dir, NOW);
        // The first start generates a CA if an administrator is needed; later starts find it.
        for days in [0, 1, 364, 366] {
            assert_eq!(served(&dir, kubeconfig, NOW + days * DAY), put, "{kubeconfig} {days}");
        }
        assert_eq!(dir.path().join(AUTHORITY.certificate).exists(), kubeconfig);
    }
}

#[test]
fn generated_pair_is_kept_until_near_expiry() {
    let dir = TestDir::new().unwrap();
    let first = served(&dir, false, NOW);
    assert_eq!(served(&dir, false, NOW + 330 * DAY), first);
    let second = served(&dir, false, NOW + 340 * DAY);
    assert_ne!(second, first);
    assert_eq!(served(&dir, false, NOW + 341 * DAY), second);
}

#[test]
fn certificate_without_key_is_regenerated() {
    let dir = TestDir::new().unwrap();
    let first = served(&dir, false, NOW);
    fs::remove_file(dir.path().join(SERVING.key)).unwrap();
    assert_ne!(served(&dir, false, NOW), first);
}

#[test]
fn local_url_is_reachable_from_this_machine() {
    let check = |address: &str, url: &str| assert_eq!(local_url(address.parse().unwrap()), url);
    check("0.0.0.0:6443", "https://127.0.0.1:6443");
    check("[::]:6443", "https://127.0.0.1:6443");
    check("[::1]:1", "https://[::1]:1");
    check("10.0.0.1:443", "https://10.0.0.1:443");
}
