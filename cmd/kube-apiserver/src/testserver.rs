//! `kube-apiserver testserver`: a control plane that others are forked from, each within milliseconds.

use std::sync::Arc;

use controlplane::config::Config;
use controlplane::forks::{Listen, Parent, serve};
use controlplane::run::{RunError, stopped};

/// The word that it begins with.
pub(crate) const COMMAND: &str = "testserver";

/// How many forks there are at most where nobody says it.
const FORKS_MAX: usize = 2_048;

/// What the subcommand is told beside the flags of a server.
pub(crate) struct Options {
    listen: Listen,
    forks_max: usize,
    /// The parent listens on a port that somebody chose.
    port_is_given: bool,
}

/// Takes this subcommand's own flags out of a command line, which has its word behind it. What is left are those of
/// a server, with defaults that suit tests: beside what forks need, they are envtest's.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn options(words: Vec<String>) -> Result<(Options, Vec<String>), String> {
    let mut options =
        Options { listen: Listen::Unix("mainstay.sock".into()), forks_max: FORKS_MAX, port_is_given: false };
    // Forks listen on ports of their own; nobody makes the accounts that pods would need.
    let defaults = [
        "--embedded-in-memory",
        "--bind-address=127.0.0.1",
        "--disable-admission-plugins=ServiceAccount",
        "--allow-privileged",
    ];
    let mut rest: Vec<String> = defaults.map(str::to_owned).to_vec();
    // Modes add up, and a file of authorizers goes with none.
    if !words.iter().any(|word| is_authorizer_flag(word)) {
        rest.push("--authorization-mode=RBAC".to_owned());
    }
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let mut value = || {
            value.clone().or_else(|| words.next()).ok_or_else(|| format!("flag needs an argument: {name}"))
        };
        match name {
            "--listen" => options.listen = Listen::parse(&value()?)?,
            "--forks-max" => {
                let text = value()?;
                let number = text.parse().ok().filter(|number| *number > 0);
                options.forks_max =
                    number.ok_or_else(|| format!("--forks-max is no number of forks: {text:?}"))?;
            }
            _ => {
                options.port_is_given |= name == "--secure-port";
                rest.push(word);
            }
        }
    }
    Ok((options, rest))
}

/// Whether a word of the command line is a flag that says which authorizers there are.
fn is_authorizer_flag(word: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name).replace('_', "-");
    matches!(&*name, "--authorization-mode" | "--authorization-config")
}

/// Hands out forks until it is told to stop.
///
/// # Errors
/// What keeps the parent from starting, or its socket from being had.
pub(crate) async fn run(mut config: Config, options: Options) -> Result<(), RunError> {
    let stop = stopped()?;
    if !options.port_is_given {
        config.serving.bind.address.set_port(0);
    }
    let parent = Arc::new(Parent::start(config, options.forks_max).await?);
    let served = serve(Arc::clone(&parent), &options.listen, stop, |place| {
        tracing::info!(place, "ready to fork");
        println!("export MAINSTAY_TESTSERVER={place}");
    });
    served.await?;
    if let Some(parent) = Arc::into_inner(parent) {
        parent.stop().await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Options, Vec<String>), String> {
        options(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn its_own_flags_are_taken_out_and_the_others_are_the_servers() {
        let (options, rest) = read("--listen unix:/a --v=2 --forks-max=7 --embedded-from seed").ok().unwrap();
        assert_eq!((options.listen, options.forks_max), (Listen::Unix("/a".into()), 7));
        assert_eq!(rest[5..], ["--v=2", "--embedded-from", "seed"]);
    }

    #[test]
    fn roles_decide_unless_it_is_told_who_does() {
        let modes = |line: &str| {
            let (_, rest) = read(line).ok().unwrap();
            rest.into_iter().filter(|word| is_authorizer_flag(word)).collect::<Vec<_>>()
        };
        assert_eq!(modes("--v=2"), ["--authorization-mode=RBAC"]);
        assert_eq!(modes("--authorization-mode=Node,RBAC"), ["--authorization-mode=Node,RBAC"]);
        assert_eq!(modes("--authorization_config=file"), ["--authorization_config=file"]);
        assert_eq!(modes("--authorization-policy-file=file"), ["--authorization-mode=RBAC"]);
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        let check =
            |line: &str, expected: &str| assert_eq!(read(line).err().as_deref(), Some(expected), "{line}");
        check("--listen", "flag needs an argument: --listen");
        check("--listen=0.0.0.0:1", "\"0.0.0.0:1\" is neither unix:PATH nor a loopback address with a port");
        check("--forks-max=0", "--forks-max is no number of forks: \"0\"");
    }
}
