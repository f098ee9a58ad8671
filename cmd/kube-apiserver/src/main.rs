//! Server binary: parses flags into options, builds the configuration and runs the server.

mod completion;
mod etcd_stub;
mod flags;
mod help;
mod logging;
mod options;
mod report;
mod temporary;
mod testserver;
mod version;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use controlplane::huge_pages;
use controlplane::run::RunError;
use flags::Flags;
use logging::{Format, Log};
use options::{OptionError, Options};
use server::{DebugPages, Section};

/// jemalloc returns memory soon after use, so a server does not keep the memory of one large list forever.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Stack size of a worker thread in bytes. Decoders recurse, with a bound.
const STACK_BYTES: usize = 8 << 20;

/// Number of tasks after which a worker polls for I/O events. Some tasks run for a fraction of a millisecond.
const EVENT_INTERVAL: u32 = 16;

fn main() -> ExitCode {
    huge_pages::disable();
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = subcommand(&words) {
        return code;
    }
    let mut testserver = None;
    if words.first().is_some_and(|word| word == testserver::COMMAND) {
        match testserver::options(words.split_off(1)) {
            Ok((options, rest)) => (testserver, words) = (Some(options), rest),
            Err(error) => return failed(&error.to_string()),
        }
    }
    let flags = match Flags::parse(words) {
        Ok(flags) => flags,
        Err(error) => return failed(&error.to_string()),
    };
    if flags.bool("help") {
        return print_help();
    }
    if version::version_output(flags.text("version")).is_some() {
        return print_version(flags.text("version"));
    }
    // An invalid format is reported with the other flag errors.
    let format = Format::from_name(flags.text("logging-format")).unwrap_or(Format::Text);
    let log = logging::start(format, flags.int("v"), controlplane::run::system_env().clock);
    match serve(&flags, log, testserver) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let error = report::naming_flag(&error.to_string(), &flags);
            tracing::error!(%error, "command failed");
            ExitCode::FAILURE
        }
    }
}

/// Runs a subcommand that starts no server; `None` if there is none.
fn subcommand(words: &[String]) -> Option<ExitCode> {
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    match texts.as_slice() {
        [etcd_stub::COMMAND, ..] => Some(match etcd_stub::run(words) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error.to_string()),
        }),
        ["help"] => Some(print_help()),
        ["version"] => Some(print_version("true")),
        [completion::COMMAND, rest @ ..] => Some(match completion::script(&rest.join(" ")) {
            Ok(script) => print_bytes(&script),
            Err(error) => failed(&error.to_string()),
        }),
        [temporary::COMMAND, path] => {
            let removed = temporary::remove_at_end(path.as_ref(), std::io::stdin());
            Some(if removed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        _ => None,
    }
}

fn print_help() -> ExitCode {
    let columns = std::env::var("COLUMNS").ok();
    print_bytes(help::text(help::width(columns.as_deref())).as_bytes())
}

fn print_version(flag: &str) -> ExitCode {
    let version = version::version_output(flag).unwrap_or_default();
    print_bytes(format!("{version}\n").as_bytes())
}

/// Prints to standard output. A reader that stops early, such as `head`, is no failure.
fn print_bytes(bytes: &[u8]) -> ExitCode {
    let mut out = std::io::stdout();
    let printed = out.write_all(bytes).and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => failed(&error.to_string()),
        _ => ExitCode::SUCCESS,
    }
}

/// Reason why the server does not start, or stops by itself.
#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error(transparent)]
    Options(#[from] OptionError),
    #[error(transparent)]
    Run(#[from] RunError),
}

fn serve(flags: &Flags, log: Log, forks: Option<testserver::Options>) -> Result<(), ServeError> {
    let mut options = Options::from_flags(flags)?;
    if flags.bool("profiling") {
        if let Err(error) = profiling::watch_heap() {
            tracing::warn!(%error, "heap profiling is unavailable");
        }
        let recent = log.recent;
        let set = log.verbosity;
        options.config.chain.pages.debugging = Some(DebugPages {
            sections: vec![Section { name: "log", state: Arc::new(move || recent.lines_json()) }],
            ..DebugPages::new(Arc::new(move |v| set.set(v.into())))
        });
    }
    options.announce();
    let _temporary = options.temporary(flags)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK_BYTES)
        .event_interval(EVENT_INTERVAL)
        .enable_all()
        .build()
        .map_err(RunError::Threads)?;
    let result = runtime.block_on(async {
        match forks {
            Some(forks) => testserver::run(options.config, forks).await,
            None => controlplane::run::run(options.config).await,
        }
    });
    runtime.shutdown_background();
    Ok(result?)
}

/// Reports an invalid command line like upstream's command library.
fn failed(error: &str) -> ExitCode {
    eprintln!("Error: {error}");
    ExitCode::FAILURE
}
