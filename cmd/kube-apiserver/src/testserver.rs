//! `kube-apiserver testserver`: a control plane that can be forked within milliseconds.

use std::sync::Arc;

use controlplane::config::Config;
use controlplane::forks::{Listen, Parent, serve};
use controlplane::run::{RunError, stopped};

use crate::options::OptionError;

/// Name of the subcommand.
pub(crate) const COMMAND: &str = "testserver";

/// Default maximum number of forks.
const FORKS_MAX: usize = 2_048;

/// Options of the subcommand, besides server flags.
pub(crate) struct Options {
    listen: Listen,
    forks_max: usize,
    /// True if the parent's port was given on the command line.
    port_is_given: bool,
}

/// Extracts the subcommand's own flags from a command line without its name. Returns the remaining server
/// flags with defaults for tests: envtest's, and those that forks need.
///
/// # Errors
/// Invalid options.
pub(crate) fn options(words: Vec<String>) -> Result<(Options, Vec<String>), OptionError> {
    let mut options =
        Options { listen: Listen::Unix("mainstay.sock".into()), forks_max: FORKS_MAX, port_is_given: false };
    // Forks have ports of their own. Pods need no service account, as in envtest.
    let defaults = [
        "--embedded-in-memory",
        "--bind-address=127.0.0.1",
        "--disable-admission-plugins=ServiceAccount",
        "--allow-privileged",
        "--embedded-controllers",
    ];
    let mut rest: Vec<String> = defaults.map(str::to_owned).to_vec();
    // Modes accumulate, and are incompatible with an authorization configuration file.
    if !words.iter().any(|word| is_authorizer_flag(word)) {
        rest.push("--authorization-mode=RBAC".to_owned());
    }
    // Clients under test may be anonymous. The file excludes the flag.
    if !words.iter().any(|word| flag_name(word) == "--authentication-config") {
        rest.push("--anonymous-auth".to_owned());
    }
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let mut value = || {
            value
                .clone()
                .or_else(|| words.next())
                .ok_or_else(|| OptionError::invalid(format!("flag needs an argument: {name}")))
        };
        match name {
            "--listen" => options.listen = Listen::parse(&value()?)?,
            "--forks-max" => {
                let text = value()?;
                let number = text.parse().ok().filter(|number| *number > 0);
                options.forks_max = number.ok_or_else(|| {
                    OptionError::invalid(format!("--forks-max is no number of forks: {text:?}"))
                })?;
            }
            _ => {
                options.port_is_given |= name == "--secure-port";
                rest.push(word);
            }
        }
    }
    Ok((options, rest))
}

/// Returns true if a word is a flag that selects the authorizers.
fn is_authorizer_flag(word: &str) -> bool {
    matches!(&*flag_name(word), "--authorization-mode" | "--authorization-config")
}

/// Returns the name of a flag with its dashes, or another word unchanged.
fn flag_name(word: &str) -> String {
    word.split_once('=').map_or(word, |(name, _)| name).replace('_', "-")
}

/// Serves forks until it is stopped.
///
/// # Errors
/// The parent cannot start, or its socket is unavailable.
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

    fn read(line: &str) -> Result<(Options, Vec<String>), OptionError> {
        options(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn own_flags_are_extracted() {
        let (options, rest) = read("--listen unix:/a --v=2 --forks-max=7 --embedded-from seed").ok().unwrap();
        assert_eq!((options.listen, options.forks_max), (Listen::Unix("/a".into()), 7));
        assert_eq!(rest[7..], ["--v=2", "--embedded-from", "seed"]);
    }

    #[test]
    fn rbac_is_the_default_authorizer() {
        let modes = |line: &str| {
            let (_, rest) = read(line).ok().unwrap();
            rest.into_iter().filter(|word| is_authorizer_flag(word)).collect::<Vec<_>>()
        };
        assert_eq!(modes("--v=2"), ["--authorization-mode=RBAC"]);
        assert_eq!(modes("--authorization-mode=Node,RBAC"), ["--authorization-mode=Node,RBAC"]);
        assert_eq!(modes("--authorization_config=file"), ["--authorization_config=file"]);
        assert_eq!(modes("--authorization-policy-file=file"), ["--authorization-mode=RBAC"]);
    }

    /// The defaults of test servers are documented, whatever those of other standalone servers are.
    #[test]
    fn parent_is_local_and_serves_anonymous_clients() {
        let config = |line: &str| {
            let flags = crate::flags::Flags::parse(read(line).ok().unwrap().1).unwrap();
            crate::options::Options::from_flags(&flags).map(|options| options.config)
        };
        let defaults = config("--embedded-data-dir /d").unwrap();
        assert!(defaults.serving.bind.address.ip().is_loopback());
        assert_eq!(defaults.authentication.anonymous, authentication::Anonymous::AllPaths);
        let file = config("--embedded-data-dir /d --authentication-config file").unwrap();
        assert!(!file.authentication.anonymous_is_given);
    }

    #[test]
    fn invalid_options_are_reported() {
        let check = |line: &str, expected: &str| {
            assert_eq!(read(line).err().unwrap().to_string(), expected, "{line}")
        };
        check("--listen", "flag needs an argument: --listen");
        check("--listen=0.0.0.0:1", "\"0.0.0.0:1\" is neither unix:PATH nor a loopback address with a port");
        check("--forks-max=0", "--forks-max is no number of forks: \"0\"");
    }
}
