//! Who listens on a port: for telling a person, as far as Linux's /proc says.

use std::fmt;
use std::fs;
use std::path::Path;

/// Longest command that is told, in characters.
const COMMAND_LIMIT: usize = 120;

/// A process that listens on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortHolder {
    /// The process.
    pub pid: u32,
    /// Its command line on one line, without control characters.
    pub command: String,
}

impl fmt::Display for PortHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "process {} (`{}`)", self.pid, self.command)
    }
}

/// The process that listens on a TCP port of this machine. Nothing where it
/// can't be known: another user's process, or no /proc.
pub fn port_holder(port: u16) -> Option<PortHolder> {
    let mut sockets = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let Ok(text) = fs::read_to_string(table) else {
            continue;
        };
        sockets.extend(listening(&text, port).into_iter().map(|inode| format!("socket:[{inode}]")));
    }
    if sockets.is_empty() {
        return None;
    }
    let processes = fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|process| {
        let pid: u32 = process.file_name().to_str()?.parse().ok()?;
        let holds = holds_any(&process.path().join("fd"), &sockets);
        holds.then(|| PortHolder { pid, command: command(&process.path()) })
    })
}

/// Inodes of the sockets of a table (proc_net_tcp(5)) that listen on `port`.
fn listening(table: &str, port: u16) -> Vec<u64> {
    const LISTEN: &str = "0A";
    const STATE: usize = 3;
    const INODE: usize = 9;
    let mut inodes = Vec::new();
    for row in table.lines().skip(1) {
        let fields: Vec<&str> = row.split_whitespace().collect();
        let (Some(local), Some(&state), Some(inode)) = (fields.get(1), fields.get(STATE), fields.get(INODE))
        else {
            continue;
        };
        let found = local.rsplit_once(':').and_then(|(_, hex)| u16::from_str_radix(hex, 16).ok());
        if found == Some(port) && state == LISTEN {
            inodes.extend(inode.parse::<u64>());
        }
    }
    inodes
}

fn holds_any(descriptors: &Path, sockets: &[String]) -> bool {
    let Ok(entries) = fs::read_dir(descriptors) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let target = fs::read_link(entry.path());
        target.is_ok_and(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str()))
    })
}

fn command(process: &Path) -> String {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    let line: String =
        line.trim().chars().filter(|character| !character.is_control()).take(COMMAND_LIMIT).collect();
    if line.is_empty() { "unknown".to_owned() } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_table_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:12B4 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1\n\
            1: 0100007F:12B4 0100007F:0001 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1\n\
            2: 0100007F:12B5 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1\n\
            nonsense\n";
        assert_eq!(listening(table, 0x12b4), [4711]);
        assert!(listening(table, 1).is_empty());
    }

    #[test]
    fn this_process_is_found() {
        if !Path::new("/proc/net/tcp").exists() {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let holder = port_holder(listener.local_addr().unwrap().port()).unwrap();
        assert_eq!(holder.pid, std::process::id());
        assert!(!holder.command.is_empty());
        drop(listener);
    }
}
