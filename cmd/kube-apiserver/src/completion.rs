//! `completion`: scripts that complete the flags in a shell.

use clap::{Arg, ArgAction, Command, ValueHint};
use clap_complete::Shell;

use crate::flags::{FLAGS, Flag};
use crate::help;

/// Name of the subcommand.
pub(crate) const COMMAND: &str = "completion";

const PROGRAM: &str = "kube-apiserver";
/// Flag of the subcommand `etcd-stub`.
const ETCD_STUB_URLS: &str = "listen-client-urls";

/// Endings of flags that name a file or a directory.
const PATH_ENDINGS: [&str; 7] = ["-file", "-dir", "cafile", "certfile", "keyfile", "-config", "-from"];

/// There is no completion script.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShellError {
    #[error("completion needs one of the shells bash, zsh and fish")]
    None,
    #[error("completion needs one of the shells bash, zsh and fish, got \"{0}\"")]
    Unknown(String),
}

/// Returns the script of a shell.
///
/// # Errors
/// There is none for this shell.
pub(crate) fn script(shell: &str) -> Result<Vec<u8>, ShellError> {
    let shell = match shell {
        "bash" => Shell::Bash,
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        "" => return Err(ShellError::None),
        other => return Err(ShellError::Unknown(other.to_owned())),
    };
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut command(), PROGRAM, &mut out);
    if shell == Shell::Bash {
        out = with_one_prefix(&String::from_utf8_lossy(&out)).into_bytes();
    }
    Ok(out)
}

/// Makes the names of subcommands equal in a script for bash: `clap_complete` replaces a hyphen in the name of a program in
/// two ways.
fn with_one_prefix(script: &str) -> String {
    script.replace("kube__subcmd__apiserver__subcmd__", "kube__apiserver__subcmd__")
}

fn command() -> Command {
    let flags = || FLAGS.iter().filter(|flag| !flag.hidden).map(argument);
    let shells = Arg::new("shell").value_parser(["bash", "zsh", "fish"]);
    let command = Command::new(PROGRAM).disable_help_flag(true).disable_version_flag(true);
    let command = command.disable_help_subcommand(true).args(flags());
    command.subcommands([
        Command::new("testserver")
            .disable_help_flag(true)
            .args(flags().filter(|flag| flag.get_id() != "help"))
            .args(["listen", "forks-max"].map(|name| Arg::new(name).long(name))),
        Command::new("etcd-stub").disable_help_flag(true).arg(Arg::new(ETCD_STUB_URLS).long(ETCD_STUB_URLS)),
        Command::new("help").disable_help_flag(true),
        Command::new("version").disable_help_flag(true),
        Command::new(COMMAND).disable_help_flag(true).arg(shells),
    ])
}

fn argument(flag: &'static Flag) -> Arg {
    let argument = Arg::new(flag.name).long(flag.name).help(help::description(flag));
    let argument = match flag.shorthand {
        Some(short) => argument.short(short),
        None => argument,
    };
    if flag.kind.no_opt_default().is_some() {
        return argument.action(ArgAction::SetTrue);
    }
    let is_path = PATH_ENDINGS.iter().any(|ending| flag.name.ends_with(ending));
    argument.value_hint(if is_path { ValueHint::AnyPath } else { ValueHint::Other })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_completes_every_visible_flag() {
        for shell in ["bash", "zsh", "fish"] {
            let script = String::from_utf8(script(shell).unwrap()).unwrap();
            for flag in FLAGS.iter().filter(|flag| !flag.hidden) {
                assert!(script.contains(flag.name), "{shell} {}", flag.name);
            }
            assert!(!script.contains(crate::temporary::COMMAND));
        }
    }

    #[test]
    fn bash_completes_after_every_subcommand() {
        let script = String::from_utf8(script("bash").unwrap()).unwrap();
        let commands: Vec<&str> = script
            .lines()
            .filter_map(|line| line.trim().strip_prefix("cmd=\"")?.strip_suffix('"'))
            .filter(|name| !name.is_empty())
            .collect();
        assert!(commands.len() > 4, "{commands:?}");
        for name in commands {
            assert!(script.lines().any(|line| line.trim() == format!("{name})")), "{name}");
        }
    }

    #[test]
    fn other_shells_are_reported() {
        let expected = "completion needs one of the shells bash, zsh and fish, got \"csh\"";
        assert_eq!(script("csh").unwrap_err().to_string(), expected);
        let expected = "completion needs one of the shells bash, zsh and fish";
        assert_eq!(script("").unwrap_err().to_string(), expected);
    }
}
