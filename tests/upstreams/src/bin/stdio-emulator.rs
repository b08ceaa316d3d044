//! A local server that speaks lines of JSON on its standard streams, and
//! misbehaves as its arguments or its caller say.
//!
//! `{"id", "do", …}` asks for one of: `tools`, `echo`, `line`, `about`, `die`,
//! `spawn`, `silence`, `endless`, `change`, `note` (which has no answer), `notes`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};

/// Requests that are answered together, the last one first.
const TURN: usize = 16;

#[derive(Debug, Clone, Parser)]
#[command(name = "stdio-emulator")]
struct Arguments {
    /// A word by which a test finds its processes.
    #[arg(long, default_value = "")]
    mark: String,
    /// Say something on the standard output that is no message.
    #[arg(long)]
    banner: bool,
    /// Begin with a byte order mark.
    #[arg(long)]
    bom: bool,
    /// End lines by CR LF.
    #[arg(long)]
    crlf: bool,
    /// Answer several requests at a time, in another order.
    #[arg(long)]
    shuffle: bool,
    /// Never answer.
    #[arg(long)]
    silent: bool,
    /// Never read.
    #[arg(long)]
    deaf: bool,
    /// Write lines without end.
    #[arg(long)]
    endless: bool,
    /// Ignore SIGTERM.
    #[arg(long)]
    stubborn: bool,
    /// End at once.
    #[arg(long)]
    die: bool,
    /// Wait, as a child of another.
    #[arg(long)]
    wait: bool,
    /// In a session of its own.
    #[arg(long)]
    session: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match serve(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("stdio-emulator: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &Arguments) -> std::io::Result<ExitCode> {
    if arguments.session {
        rustix::process::setsid()?;
    }
    if arguments.stubborn {
        ignore_terminate()?;
    }
    if arguments.wait {
        loop {
            std::thread::park();
        }
    }
    if arguments.die {
        eprintln!("the emulator has no key");
        return Ok(ExitCode::from(3));
    }
    let mut stdout = std::io::stdout();
    if arguments.bom {
        stdout.write_all("\u{feff}".as_bytes())?;
    }
    if arguments.banner {
        writeln!(stdout, "Emulator 1.0 is starting… {{not JSON")?;
        writeln!(stdout)?;
    }
    stdout.flush()?;
    if arguments.deaf {
        loop {
            std::thread::park();
        }
    }
    let mut server = Server {
        arguments: arguments.clone(),
        tools: vec!["tools", "echo", "line"],
        changes: 0,
        notes: vec![],
    };
    server.tools.extend(["about", "die", "spawn", "silence", "endless", "change"]);
    if arguments.endless {
        server.endless();
    }
    let requests = requests();
    while let Some(turn) = server.turn(&requests) {
        for request in turn.iter().rev() {
            if let Some(code) = server.answer(request)? {
                return Ok(code);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What comes in, read beside the answers.
fn requests() -> Receiver<Value> {
    let (tell, requests) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let Ok(request) = serde_json::from_str(&line) else {
                eprintln!("the emulator can't read {} bytes", line.len());
                continue;
            };
            if tell.send(request).is_err() {
                return;
            }
        }
    });
    requests
}

struct Server {
    arguments: Arguments,
    tools: Vec<&'static str>,
    changes: u64,
    notes: Vec<Value>,
}

impl Server {
    fn turn(&self, requests: &Receiver<Value>) -> Option<Vec<Value>> {
        let mut turn = vec![requests.recv().ok()?];
        while self.arguments.shuffle && turn.len() < TURN {
            match requests.recv_timeout(Duration::from_millis(2)) {
                Ok(request) => turn.push(request),
                Err(_) => break,
            }
        }
        Some(turn)
    }

    fn answer(&mut self, request: &Value) -> std::io::Result<Option<ExitCode>> {
        if self.arguments.silent {
            return Ok(None);
        }
        let answer = match request["do"].as_str().unwrap_or_default() {
            "tools" => json!({ "title": "Emulator", "tools": self.tools }),
            "echo" => json!({ "text": request["text"], "pid": std::process::id() }),
            "line" => {
                let bytes = usize::try_from(request["bytes"].as_u64().unwrap_or(0)).unwrap_or(0);
                json!({ "text": "x".repeat(bytes) })
            }
            "about" => about()?,
            "die" => {
                eprintln!("the emulator dies as it was asked");
                return Ok(Some(ExitCode::from(
                    u8::try_from(request["status"].as_u64().unwrap_or(1)).unwrap_or(1),
                )));
            }
            "spawn" => json!({ "pids": self.spawn()? }),
            "silence" => return Ok(None),
            "note" => {
                self.notes.push(request["text"].clone());
                return Ok(None);
            }
            "notes" => json!({ "notes": self.notes }),
            "endless" => {
                self.endless();
                json!({})
            }
            "change" => self.change(request["times"].as_u64().unwrap_or(1))?,
            other => json!({ "error": format!("the emulator can't do {other:?}") }),
        };
        let mut answer = answer;
        answer["id"] = request["id"].clone();
        self.write(&answer)?;
        Ok(None)
    }

    fn write(&self, line: &Value) -> std::io::Result<()> {
        let end = if self.arguments.crlf { "\r\n" } else { "\n" };
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(format!("{line}{end}").as_bytes())?;
        stdout.flush()
    }

    /// One more tool a time, each told.
    fn change(&mut self, times: u64) -> std::io::Result<Value> {
        const NAMES: [&str; 3] = ["first", "second", "third"];
        for _ in 0..times {
            let place = usize::try_from(self.changes).unwrap_or(usize::MAX);
            self.tools.extend(NAMES.get(place));
            self.changes += 1;
            self.write(&json!({ "changed": "tools" }))?;
        }
        Ok(json!({ "changes": self.changes }))
    }

    /// Writes lines until the process ends.
    fn endless(&self) {
        std::thread::spawn(|| {
            let line = format!("{}\n", json!({ "noise": "x".repeat(4096) }));
            while std::io::stdout().lock().write_all(line.as_bytes()).is_ok() {}
        });
    }

    /// Programs below it: one in its own group, one in another, and one that
    /// has left its session and its parent; none of them minds SIGTERM.
    fn spawn(&self) -> std::io::Result<Vec<u32>> {
        let mut pids = Vec::new();
        for (own_group, own_session) in [(false, false), (true, false), (false, true)] {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["--wait", "--stubborn", "--mark", &self.arguments.mark]);
            command.stdin(Stdio::null()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
            if own_group {
                command.process_group(0);
            }
            if own_session {
                command.arg("--session");
            }
            pids.push(command.spawn()?.id());
        }
        Ok(pids)
    }
}

fn ignore_terminate() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut terminate = {
        let _entered = runtime.enter();
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?
    };
    std::thread::spawn(move || runtime.block_on(async move { while terminate.recv().await.is_some() {} }));
    Ok(())
}

/// What it was given and can see.
fn about() -> std::io::Result<Value> {
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let mut descriptors: Vec<i32> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    descriptors.sort_unstable();
    // The last is that of the directory which lists them.
    descriptors.pop();
    Ok(json!({
        "pid": std::process::id(),
        "group": rustix::process::getpgrp().as_raw_nonzero().get(),
        "terminal": std::fs::File::open("/dev/tty").is_ok(),
        "arguments": std::env::args().skip(1).collect::<Vec<_>>(),
        "directory": std::env::current_dir()?,
        "environment": environment,
        "descriptors": descriptors,
    }))
}
