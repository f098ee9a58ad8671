//! Runs `kubectl` as a user would.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{self, Finished, Lines};
use crate::tools;

/// Timeout of commands that do not watch.
const LIMIT: Duration = Duration::from_secs(60);

/// `kubectl` with an admin kubeconfig and a separate home directory.
pub struct Kubectl {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) env: Vec<(String, String)>,
}

impl Kubectl {
    /// Uses this kubeconfig and home directory.
    pub fn new(kubeconfig: &Path, home: &Path) -> Self {
        Kubectl { kubeconfig: kubeconfig.to_owned(), home: home.to_owned(), env: Vec::new() }
    }

    /// Sets an environment variable for every command.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the output of a command; its arguments are separated by blanks.
    ///
    /// # Panics
    /// The command fails.
    pub fn ok(&self, arguments: &str) -> String {
        self.ok_with(arguments, "")
    }

    /// Like [`Kubectl::ok`], with standard input.
    ///
    /// # Panics
    /// The command fails.
    pub fn ok_with(&self, arguments: &str, stdin: &str) -> String {
        let done = self.run(arguments, stdin);
        assert!(done.status.success(), "kubectl {arguments}\n{}{}", done.stdout, done.stderr);
        done.stdout
    }

    /// Returns the error output of a command.
    ///
    /// # Panics
    /// The command succeeds.
    pub fn fails(&self, arguments: &str) -> String {
        let done = self.run(arguments, "");
        assert!(!done.status.success(), "kubectl {arguments}\n{}", done.stdout);
        done.stderr
    }

    /// Runs a command and returns its result.
    pub fn run(&self, arguments: &str, stdin: &str) -> Finished {
        process::run(&mut self.command(arguments), stdin, LIMIT)
    }

    /// Starts a command that runs until dropped.
    pub fn start(&self, arguments: &str) -> Lines {
        Lines::start(&mut self.command(arguments))
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(tools::program("kubectl"));
        command
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.home);
        command
    }
}
