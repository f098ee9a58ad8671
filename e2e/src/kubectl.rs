//! `kubectl`, as a person would run it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{self, Finished, Lines};
use crate::tools;

/// How long a command may take that is not watching.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `kubectl` for one server's administrator, with a home directory of its own.
pub struct Kubectl {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) env: Vec<(String, String)>,
}

impl Kubectl {
    /// With somebody's kubeconfig and home directory.
    pub fn new(kubeconfig: &Path, home: &Path) -> Self {
        Kubectl { kubeconfig: kubeconfig.to_owned(), home: home.to_owned(), env: Vec::new() }
    }

    /// Runs every command with a variable of its environment set.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What the command prints; its arguments are separated by blanks.
    ///
    /// # Panics
    /// When it fails.
    pub fn ok(&self, arguments: &str) -> String {
        self.ok_with(arguments, "")
    }

    /// As [`Kubectl::ok`], with something to read.
    ///
    /// # Panics
    /// When it fails.
    pub fn ok_with(&self, arguments: &str, stdin: &str) -> String {
        let done = self.run(arguments, stdin);
        assert!(done.status.success(), "kubectl {arguments}\n{}{}", done.stdout, done.stderr);
        done.stdout
    }

    /// What the command complains about.
    ///
    /// # Panics
    /// When it succeeds.
    pub fn fails(&self, arguments: &str) -> String {
        let done = self.run(arguments, "");
        assert!(!done.status.success(), "kubectl {arguments}\n{}", done.stdout);
        done.stderr
    }

    /// What the command does, whatever that is.
    pub fn run(&self, arguments: &str, stdin: &str) -> Finished {
        process::run(&mut self.command(arguments), stdin, LIMIT)
    }

    /// Starts a command that goes on until it is dropped.
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
