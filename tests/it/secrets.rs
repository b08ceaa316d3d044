//! A secret stays where it belongs: a canary is looked for wherever bytes of
//! it could have gone.

use std::fs;
use std::path::Path;

use executor_upstreams::github::{Fault, FaultKind};

use crate::daemon::{Daemon, TOKEN, emulator};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_in_no_file_no_answer_and_no_program() {
    let (mut daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    emulator.fault(Fault::new("GET", "/user", FaultKind::EchoAuthorization));
    let (_, echoed) = daemon.execute("return await tools.github.users.getAuthenticated({}, { raw: true })");
    assert!(echoed.to_string().contains("[redacted]"), "the upstream did echo it: {echoed}");
    let answers = [
        echoed.to_string(),
        daemon.run(&["connections", "list", "--json"]).ok(),
        daemon.run(&["sources", "show", "github", "--json"]).ok(),
        daemon.run(&["audit", "search", "--json"]).ok(),
        daemon.run(&["doctor"]).stdout,
    ];
    for answer in answers {
        assert!(!answer.contains(TOKEN), "{answer}");
    }
    daemon.stop();
    search(daemon.home(), TOKEN);
}

/// Looks for a secret in every file below a directory.
pub(crate) fn search(directory: &Path, secret: &str) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            search(&path, secret);
        } else if let Ok(bytes) = fs::read(&path) {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "the secret lies in {}", path.display());
        }
    }
}

#[test]
fn the_home_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let daemon = Daemon::start();
    let mode = |path: &str| fs::metadata(daemon.home().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("."), 0o700);
    assert_eq!(mode("token"), 0o600);
    assert_eq!(mode("executor.sock") & 0o077, 0);
}

#[test]
fn a_value_on_the_command_line_is_refused() {
    let daemon = Daemon::start();
    let said = daemon.run(&["connections", "add", "github", "--set", "token=literal-value"]).fails(2);
    assert!(said.contains("token") && !said.contains("literal-value"), "{said}");
}
