//! What stands between the daemon and a local program, in a process of its
//! own: it starts the program, and ends it with all that came of it once the
//! daemon is gone, however that went.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::fd::{FromRawFd as _, RawFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, setsid, wait,
};

/// What a program has between being asked to end and being ended.
const GRACE: Duration = Duration::from_secs(2);
/// Between two looks for what is still there.
const LOOK: Duration = Duration::from_millis(50);
/// Programs that make others faster than these are ended are given up on.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program that can't be run, and one that is not there, as shells say it.
const CANT_RUN: i32 = 126;
const NOT_THERE: i32 = 127;

enum Event {
    /// The daemon wants the program to end, or is gone.
    Asked,
    /// A child has ended.
    Ended(Pid, ExitStatus),
    /// There is no child left.
    Nobody,
}

/// Runs a program with the standard input, output and error of this process
/// until it has ended or `control`, a file descriptor, is closed at its other
/// end; gives the status to exit with. Nothing that the program began is left
/// when this returns. To be called once, by a process that does nothing else.
pub fn guard(control: RawFd, program: &OsStr, arguments: &[OsString]) -> i32 {
    // One that leads a session already needs no other one.
    let _ = setsid();
    if let Err(error) = set_child_subreaper(Some(getpid())) {
        eprintln!("executor: programs can't be guarded here: {error}");
        return CANT_RUN;
    }
    close_on_exec();
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    // SAFETY: one system call, which allocates nothing and takes no lock.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) };
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("executor: {} can't be run: {error}", program.to_string_lossy());
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            return if missing { NOT_THERE } else { CANT_RUN };
        }
    };
    let Some(child) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return CANT_RUN;
    };
    leave_pipes();
    let (tell, events) = channel();
    let told = tell.clone();
    std::thread::spawn(move || watch_control(control, &told));
    std::thread::spawn(move || reap(&tell));
    see_to_the_end(child, &events)
}

/// Waits for the program, or for the daemon's word, and then until nothing is
/// left.
fn see_to_the_end(child: Pid, events: &Receiver<Event>) -> i32 {
    let mut status = 0;
    loop {
        match events.recv() {
            Ok(Event::Ended(pid, _)) if pid != child => {}
            Ok(Event::Ended(_, ended)) => {
                status = code(ended);
                break;
            }
            Ok(Event::Asked) => break,
            Ok(Event::Nobody) | Err(_) => return status,
        }
    }
    let asked = Instant::now();
    // There may be nobody left in it.
    let _ = kill_process_group(child, Signal::TERM);
    loop {
        let spent = asked.elapsed();
        if spent >= PATIENCE {
            return status;
        }
        if spent >= GRACE {
            for pid in descendants(getpid()) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        match events.recv_timeout(GRACE.checked_sub(spent).unwrap_or(LOOK)) {
            Ok(Event::Ended(pid, ended)) if pid == child => status = code(ended),
            Ok(Event::Nobody) | Err(RecvTimeoutError::Disconnected) => return status,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(CANT_RUN)
}

/// Tells once the other end of `control` is closed.
fn watch_control(control: RawFd, events: &Sender<Event>) {
    // SAFETY: the daemon opened it for this process, which nobody else uses.
    let mut control = unsafe { std::fs::File::from_raw_fd(control) };
    let mut word = [0; 16];
    loop {
        match control.read(&mut word) {
            Ok(1..) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
        }
    }
    // A number that leads nowhere is not ours to close.
    std::mem::forget(control);
    let _ = events.send(Event::Asked);
}

/// Tells of every child that ends: the program, and what it left behind.
fn reap(events: &Sender<Event>) {
    loop {
        let event = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => Event::Ended(pid, ExitStatus::from_raw(status.as_raw())),
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => Event::Nobody,
        };
        let last = matches!(event, Event::Nobody);
        if events.send(event).is_err() || last {
            return;
        }
    }
}

/// Everything below a process: its children, theirs, and those whose parent
/// is gone, which are its own since it reaps.
fn descendants(root: Pid) -> Vec<Pid> {
    let parents: Vec<(i32, i32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name stands in brackets, and may hold anything.
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut found = vec![root.as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        let children = parents.iter().filter(|(pid, of)| *of == parent && !found.contains(pid));
        let children: Vec<i32> = children.map(|(pid, _)| *pid).collect();
        found.extend(children);
        next += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

/// No file of this process but the three standard ones goes to the program.
fn close_on_exec() {
    // SAFETY: it marks descriptors, and closes none of this process.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
}

/// Lets go of the program's pipes, so that their ends are seen, and of the
/// signals by which a whole group is ended: the program is ended in order.
fn leave_pipes() {
    // SAFETY: the file is opened here, and the numbers are those of the
    // standard streams; ignoring a signal runs no code.
    unsafe {
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for stream in 0..=2 {
            libc::dup2(nothing, stream);
        }
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}
