//! `executor serve`: the daemon itself.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use executor_control::{Control, Options, Settings, SystemClock};
use executor_runtime::{GuardProgram, Launch};
use executor_server::{DEFAULT_PORT, Port, Sealing, ServeOptions, Server};
use executor_telemetry::logs::{self, Log};
use executor_telemetry::otlp;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::{daemon, settings};

/// How long the last spans and the last lines of the log may take.
const EXPORT_PATIENCE: Duration = Duration::from_secs(5);
const FLUSH_PATIENCE: Duration = Duration::from_secs(2);

/// What the daemon logs where `EXECUTOR_LOG` says nothing.
/// The MCP library tells of every request as it comes and goes.
pub(super) const DEFAULT_LOG: &str = "info,rmcp=error";

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The address to listen on; others than loopback only with TLS
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: String,
    /// The port, or `auto` for any that is free [default: 4788] [env: EXECUTOR_PORT]
    #[arg(long, value_name = "N|auto")]
    port: Option<Port>,
    /// One more name that requests may come by, as a proxy or /etc/hosts gives it
    #[arg(long, value_name = "NAME[:PORT]")]
    allow_host: Vec<String>,
    /// The certificate to speak TLS with, a PEM file with those that lead to its root
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A proxy in front of the daemon speaks TLS; name its host by --allow-host
    #[arg(long, conflicts_with = "tls_cert")]
    behind_proxy: bool,
    /// Leave the terminal: how the daemon is started by other commands
    #[arg(long, hide = true)]
    background: bool,
}

pub(crate) fn run(context: &Context, arguments: &ServeArguments) -> Result<Exit, Failure> {
    if arguments.background {
        // A process that already leads a session needs no other one.
        let _ = rustix::process::setsid();
    }
    let log = start_log(context, arguments.background)?;
    let options = ServeOptions {
        host: host(&arguments.host)?,
        port: port(context, arguments.port)?,
        allow_hosts: arguments.allow_host.clone(),
        sealing: sealing(arguments),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("the daemon can't have its threads: {error}")))?;
    let outcome = runtime.block_on(serve(context, options, &log));
    log.flush(FLUSH_PATIENCE);
    // Whatever is still computing is nobody's any more.
    runtime.shutdown_background();
    outcome
}

async fn serve(context: &Context, options: ServeOptions, log: &Log) -> Result<Exit, Failure> {
    let config = settings::load(&context.home)?;
    let bounds = config.logs.bounds();
    let programs = Some(launch(context, &config));
    let options_of_home = Options {
        home: context.home.clone(),
        cache: None,
        config,
        clock: Arc::new(SystemClock),
        programs,
        keyring: context.environment.keyring.clone(),
    };
    let control = Control::open(options_of_home).await.map_err(|problem| {
        let mut failure = settings::of_problem(problem);
        failure.exit = Exit::Failed;
        failure
    })?;
    // The home is ours from here on, and so is its log.
    let path = daemon::log_file(&context.home);
    if let Err(error) = log.open(&path, bounds) {
        tracing::warn!(%error, path = %path.display(), "the log file can't be written; stderr is the only log");
    }
    export_spans(context);
    let server = match Server::bind(control.clone(), options).await {
        Ok(server) => server,
        Err(error) => {
            control.close().await;
            return Err(bind_failure(context, &error));
        }
    };
    context.output.say(&format!("listening on {} and {}", server.url(), control.socket().display()));
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, url = server.url(), "the daemon is up");
    server.serve(ended()).await;
    control.close().await;
    otlp::finish(EXPORT_PATIENCE).await;
    tracing::info!("the daemon has ended");
    context.output.say("ended");
    Ok(Exit::Ok)
}

/// How local programs are run: under this very binary, also where its file is
/// another one by now.
fn launch(context: &Context, config: &Settings) -> Launch {
    let guard = GuardProgram { program: "/proc/self/exe".into(), arguments: vec!["guard-process".into()] };
    Launch {
        guard,
        environment: context.environment.programs.clone(),
        directory: context.environment.user_home.clone().unwrap_or_else(|| "/".into()),
        idle: config.process_idle(),
    }
}

fn bind_failure(context: &Context, error: &executor_server::ServeError) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        executor_server::ServeError::PortTaken { .. } => failure
            .hint(format!("choose another port: `{}`", context.command("serve --port auto")))
            .hint("EXECUTOR_PORT=auto lets every command that starts the daemon do so"),
        _ => failure,
    }
}

fn sealing(arguments: &ServeArguments) -> Sealing {
    match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => Sealing::Tls { certificate: certificate.clone(), key: key.clone() },
        _ if arguments.behind_proxy => Sealing::Proxy,
        _ => Sealing::Nothing,
    }
}

/// The port that was said, on the command line or else in the environment.
fn port(context: &Context, given: Option<Port>) -> Result<Port, Failure> {
    match (given, &context.environment.port) {
        (Some(port), _) => Ok(port),
        (None, Some(text)) => text.parse().map_err(|error| Failure::usage(format!("EXECUTOR_PORT: {error}"))),
        (None, None) => Ok(Port::Fixed(DEFAULT_PORT)),
    }
}

fn host(given: &str) -> Result<IpAddr, Failure> {
    match given {
        "localhost" => Ok(IpAddr::from([127, 0, 0, 1])),
        _ => given.trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| {
            Failure::usage(format!(
                "--host takes an IP address, and `{}` is none",
                crate::text::line(given, 80)
            ))
        }),
    }
}

/// Resolves when somebody asks the process to end. Asked twice it ends at
/// once.
async fn ended() {
    let (mut terminate, mut interrupt) =
        match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
            (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
            (Err(error), _) | (_, Err(error)) => {
                tracing::error!(%error, "signals can't be heard: only POST /v1/shutdown ends the daemon");
                return std::future::pending().await;
            }
        };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        std::process::exit(i32::from(Exit::Failed.code()));
    });
}

/// Spans go to a collector where the environment names one. What is wrong
/// with that is said and changes nothing else: the same variables are there
/// for every program of a session.
fn export_spans(context: &Context) {
    let config = match otlp::Config::of(&context.environment.otel) {
        Ok(Some(config)) => config,
        Ok(None) => return,
        Err(error) => return tracing::warn!(%error, "no spans are exported"),
    };
    match otlp::start(&config) {
        Ok(()) => tracing::info!(endpoint = config.endpoint, "spans are exported"),
        Err(error) => tracing::warn!(%error, "no spans are exported"),
    }
}

/// The log goes to stderr and, once the home is ours, to its file; of a daemon
/// in the background to the file alone, which is the one that has a bound.
fn start_log(context: &Context, background: bool) -> Result<Log, Failure> {
    let filter = context.environment.log.as_deref().unwrap_or(DEFAULT_LOG);
    let filter = EnvFilter::builder()
        .parse(filter)
        .map_err(|error| Failure::usage(format!("EXECUTOR_LOG is no filter: {error}")))?;
    let stderr = (!background).then(|| {
        let colored = context.output.talk.bold("x") != "x";
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colored)
    });
    let (file, log) = logs::log();
    tracing_subscriber::registry().with(filter).with(stderr).with(file).init();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // With its main thread the daemon ends, maybe before it has a log.
        if std::thread::current().name() == Some("main") {
            usual(panic);
        }
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(
            place,
            panic = panic.payload_as_str().unwrap_or("no message"),
            "the daemon's code broke"
        );
    }));
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;

    #[test]
    fn a_port_is_the_nearest_that_was_said() {
        let context = |port: Option<&str>| {
            let environment = Environment {
                user_home: Some("/u".into()),
                port: port.map(str::to_owned),
                ..Environment::default()
            };
            Context::new(&Globals::default(), environment).unwrap()
        };
        assert_eq!(port(&context(None), None).unwrap(), Port::Fixed(DEFAULT_PORT));
        assert_eq!(port(&context(Some("auto")), None).unwrap(), Port::Auto);
        assert_eq!(port(&context(Some("auto")), Some(Port::Fixed(9))).unwrap(), Port::Fixed(9));
        assert!(port(&context(Some("http")), None).unwrap_err().message.contains("EXECUTOR_PORT"));
    }

    #[test]
    fn a_host_is_an_address() {
        assert!(host("127.0.0.1").unwrap().is_loopback());
        assert!(host("[::1]").unwrap().is_loopback());
        assert!(host("localhost").unwrap().is_loopback());
        assert!(host("example.com").is_err());
    }
}
