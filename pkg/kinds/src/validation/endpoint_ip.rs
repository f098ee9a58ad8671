//! IP addresses of Endpoints and EndpointSlices, and external addresses of Services.

use api::ip::canonical_ip;
use apimachinery::field::{Error, ErrorList, Path};
use std::net::IpAddr;

/// Checks that traffic can be sent to an address, in any spelling: it must not be unspecified, loopback or
/// link-local. Global multicast is allowed, as in upstream (`ValidateEndpointIP`).
pub(crate) fn endpoint_ip(path: &Path<'_>, text: &str, errors: &mut ErrorList) {
    let Some(ip) = canonical_ip(text).map(|ip| ip.to_canonical()) else {
        errors.push(Error::invalid(path, text, "must be a valid IP address"));
        return;
    };
    let (local, local_multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.segments()[0] & 0xff0f == 0xff02),
    };
    let mut reject = |wrong: bool, detail: &str| {
        if wrong {
            errors.push(Error::invalid(path, text, detail));
        }
    };
    reject(ip.is_unspecified(), &format!("may not be unspecified ({text})"));
    reject(ip.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    reject(local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    reject(local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ip: &str, expected: &[&str]) {
        let mut errors = ErrorList::new();
        endpoint_ip(&Path::root("ip"), ip, &mut errors);
        assert_eq!(errors.iter().map(Error::detail).collect::<Vec<_>>(), expected, "{ip}");
    }

    #[test]
    fn endpoints_are_on_other_hosts() {
        for ip in ["10.0.0.1", "010.0.0.1", "2001:db8::1", "239.1.1.1", "ff05::1", "::ffff:10.0.0.1"] {
            check(ip, &[]);
        }
        check("x", &["must be a valid IP address"]);
        check("0.0.0.0", &["may not be unspecified (0.0.0.0)"]);
        check("::", &["may not be unspecified (::)"]);
        let loopback = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
        check("127.1.2.3", &[loopback]);
        check("::1", &[loopback]);
        check("::ffff:127.0.0.1", &[loopback]);
        check("169.254.0.1", &["may not be in the link-local range (169.254.0.0/16, fe80::/10)"]);
        check("fe80::1", &["may not be in the link-local range (169.254.0.0/16, fe80::/10)"]);
        let multicast = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
        check("224.0.0.1", &[multicast]);
        check("ff02::1", &[multicast]);
    }
}
