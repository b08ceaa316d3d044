//! The GitHub emulator as a program, for demonstrations and for tests that
//! need it in a process of its own.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use executor_upstreams::github::{self, Config, Emulator};
use tokio::signal::unix::{SignalKind, signal};

/// An emulator of GitHub's REST API on 127.0.0.1.
///
/// Prints `listening on http://127.0.0.1:PORT` once it answers, and ends on
/// SIGTERM or SIGINT. Its switches are under /_emulator/: POST, GET and DELETE
/// faults, GET and DELETE ledger, POST and DELETE tokens.
#[derive(Debug, Parser)]
#[command(name = "github-emulator")]
struct Arguments {
    /// The port; 0 takes one that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The file that GET /openapi.json answers.
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
    /// A token to accept, as octocat or as the login after a colon. Without
    /// any it is `emulator-token`.
    #[arg(long = "token", value_name = "TOKEN[:LOGIN]")]
    tokens: Vec<String>,
    /// Refuse requests without a token.
    #[arg(long)]
    require_token: bool,
    /// End when the standard input closes.
    #[arg(long)]
    exit_with_stdin: bool,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("github-emulator: {message}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn run(arguments: Arguments) -> Result<(), String> {
    let with_stdin = arguments.exit_with_stdin;
    let port = arguments.port;
    let config = config(arguments)?;
    let failed = |error| format!("could not listen for signals: {error}");
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let emulator = github::start(config)
        .await
        .map_err(|error| format!("could not listen on 127.0.0.1:{port}: {error}"))?;
    announce(&emulator).map_err(|error| format!("could not print the address: {error}"))?;
    let stdin_closed = async {
        match with_stdin {
            true => stdin_end().await,
            false => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = stdin_closed => {}
    }
    Ok(())
}

fn config(arguments: Arguments) -> Result<Config, String> {
    let document = match arguments.document {
        None => None,
        Some(path) => match std::fs::read(&path) {
            Ok(bytes) => Some(bytes.into()),
            Err(error) => return Err(format!("could not read {}: {error}", path.display())),
        },
    };
    let mut config = Config {
        port: arguments.port,
        require_token: arguments.require_token,
        document,
        ..Config::default()
    };
    if !arguments.tokens.is_empty() {
        config.tokens = arguments.tokens.iter().map(|text| token(text)).collect();
    }
    Ok(config)
}

fn token(text: &str) -> (String, String) {
    let (token, login) = text.split_once(':').unwrap_or((text, "octocat"));
    (token.to_owned(), login.to_owned())
}

fn announce(emulator: &Emulator) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "listening on {}", emulator.origin())?;
    stdout.flush()
}

/// Waits on a thread that nobody joins, since a read of the standard input
/// can't be given up and would keep a runtime from ending.
async fn stdin_end() {
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while matches!(std::io::stdin().lock().read(&mut buffer), Ok(count) if count > 0) {}
        let _ = ended.send(());
    });
    let _ = end.await;
}
