//! Allowed licenses of dependencies.

use super::workspace::Package;

pub(crate) const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDDL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Returns packages without an allowed license.
pub(crate) fn findings(packages: &[Package]) -> Vec<String> {
    let bad = packages.iter().filter(|package| !package.license.as_deref().is_some_and(allowed));
    bad.map(|package| {
        let license = package.license.as_deref().unwrap_or("none declared");
        format!("{} {}: {license}", package.name, package.version)
    })
    .collect()
}

/// Returns true if an SPDX expression (or the older `A/B`) offers an allowed choice.
fn allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    any(&mut rest) && rest.is_empty()
}

fn any(rest: &mut &[&str]) -> bool {
    let mut value = all(rest);
    while take(rest, "OR") {
        value |= all(rest);
    }
    value
}

fn all(rest: &mut &[&str]) -> bool {
    let mut value = one(rest);
    while take(rest, "AND") {
        value &= one(rest);
    }
    value
}

fn one(rest: &mut &[&str]) -> bool {
    if take(rest, "(") {
        let value = any(rest);
        return take(rest, ")") && value;
    }
    let Some((name, tail)) = rest.split_first() else { return false };
    *rest = tail;
    match *rest {
        ["WITH", exception, ..] => {
            let name = format!("{name} WITH {exception}");
            *rest = &rest[2..];
            ALLOWED.contains(&name.as_str())
        }
        _ => ALLOWED.contains(name),
    }
}

fn take(rest: &mut &[&str], token: &str) -> bool {
    let found = rest.first() == Some(&token);
    if found {
        *rest = &rest[1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::workspace::example;
    use super::*;

    #[test]
    fn expression_with_an_allowed_choice_is_allowed() {
        let check = |expression, expected| assert_eq!(allowed(expression), expected, "{expression}");
        check("MIT", true);
        check("GPL-3.0", false);
        check("GPL-3.0 OR MIT", true);
        check("GPL-3.0 AND MIT", false);
        check("MIT/Apache-2.0", true);
        check("(MIT OR Apache-2.0) AND Unicode-3.0", true);
        check("(MIT OR GPL-2.0) AND LGPL-2.1", false);
        check("MIT OR GPL-2.0 AND LGPL-2.1", true);
        check("Apache-2.0 WITH LLVM-exception", true);
        check("GPL-2.0 WITH Classpath-exception-2.0", false);
        check("", false);
        check("MIT OR", true);
        check("(MIT", false);
        check("MIT )", false);
    }

    #[test]
    fn a_package_without_a_usable_license_is_found() {
        let packages = [
            example("good", Some("MIT"), &[]),
            example("bad", Some("AGPL-3.0"), &[]),
            example("bare", None, &[]),
        ];
        assert_eq!(findings(&packages), ["bad 1.0.0: AGPL-3.0", "bare 1.0.0: none declared"]);
    }
}
