//! Manager name of a request other than an apply.

use apimachinery::go_quote::is_printable;

/// Length limit of a field manager's name in bytes.
pub const FIELD_MANAGER_BYTES_MAX: usize = 128;

/// Returns the `fieldManager` option or, without it, the part of the user agent before the first slash. Of
/// that it keeps the printable characters, up to [`FIELD_MANAGER_BYTES_MAX`] bytes.
pub fn manager_or_user_agent(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.to_owned();
    }
    let product = user_agent.split('/').next().unwrap_or_default();
    let mut name = String::new();
    for c in product.chars().filter(|&c| is_printable(c)) {
        if name.len() + c.len_utf8() > FIELD_MANAGER_BYTES_MAX {
            break;
        }
        name.push(c);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field_manager: &str, user_agent: &str, expected: &str) {
        assert_eq!(manager_or_user_agent(field_manager, user_agent), expected);
    }

    #[test]
    fn option_precedes_user_agent() {
        check("me", "kubectl/v1.36", "me");
        check("", "kubectl/v1.36 (linux/amd64)", "kubectl");
        check("", "", "");
    }

    #[test]
    fn user_agent_is_cut_at_first_slash() {
        check("", "Mozilla/5.0 (X11; Linux)", "Mozilla");
        check("", "no slash at all", "no slash at all");
        check("", "a\u{1b}b\nc\u{200b}d/1", "abcd");
        check("", "日本/1", "日本");
    }

    #[test]
    fn long_user_agent_ends_at_character_boundary() {
        let long = "x".repeat(200);
        check("", &long, &long[..128]);
        let odd = format!("{}{}", "x".repeat(127), "é");
        check("", &odd, &odd[..127]);
    }
}
