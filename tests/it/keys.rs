//! The key of the secrets, lost and found again.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::daemon::{Daemon, TOKEN, emulator};

/// Gives a code by stdin; how the command ended, and what it said.
pub(crate) fn import(daemon: &Daemon, code: &str) -> (Option<i32>, String) {
    let mut command = daemon.command(&["secrets", "import-key", "-"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(code.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_key_is_named_by_doctor_and_comes_back_by_its_code() {
    let (mut daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    daemon.run(&["secrets", "export-key"]).fails(2);
    let code = daemon.run(&["secrets", "export-key", "--yes"]).ok();
    assert!(!code.contains(TOKEN) && code.trim().len() == 67, "{code}");
    let (ended, said) = import(&daemon, &code);
    assert!(
        ended == Some(1) && said.contains("executor down"),
        "a daemon that runs is not disturbed: {said}"
    );
    assert!(daemon.run(&["doctor"]).stdout.contains("secret.key"), "doctor says where the key is");

    daemon.stop();
    fs::remove_file(daemon.home().join("secret.key")).unwrap();
    let report = daemon.run(&["doctor"]);
    assert_eq!(report.code(), 1, "{report:?}");
    assert!(report.stdout.contains("executor secrets import-key"), "{report:?}");
    let refused = daemon.run(&["serve", "--port", "auto"]);
    assert!(refused.code() != 0 && refused.stderr.contains("import-key"), "{refused:?}");
    assert!(!daemon.home().join("secret.key").exists(), "no new key is made in its place");

    let wrong = code.replacen(|letter: char| letter.is_ascii_alphanumeric(), "_", 1);
    assert!(import(&daemon, &wrong).1.contains("is in no recovery code"));
    assert!(import(&daemon, &code[..20]).1.contains("58 letters"));
    let other = Daemon::start();
    let foreign = other.run(&["secrets", "export-key", "--yes"]).ok();
    assert!(import(&daemon, &foreign).1.contains("another home"));
    daemon.run(&["secrets", "import-key", code.trim()]).fails(2);
    assert_eq!(
        import(&daemon, &code.to_lowercase()),
        (Some(0), "the key is in its place: the secrets can be opened again\n".to_owned())
    );
    daemon.serve();
    let (_, done) = daemon.execute("return (await tools.github.users.getAuthenticated({})).login");
    assert_eq!(done["result"], "octocat", "{done}");
}
