//! The life of its filterd: started, configured, ended.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use nix::sys::signal::Signal;

use super::Net;
use crate::{Daemon, Home, OtherTime, OwnRun, Reply, home};

impl Net {
    /// Starts filterd with this configuration; on `eth0` if it names no interfaces.
    #[track_caller]
    pub fn start(&mut self, config: &str) {
        self.start_with(config, &[]);
    }

    /// Starts filterd with this configuration and these further arguments.
    #[track_caller]
    pub fn start_with(&mut self, config: &str, arguments: &[&str]) {
        let mut command = self.command(config, arguments);
        self.daemon = Some(self.host.entered(|| Daemon::start(&mut command, &self.home)));
    }

    /// Starts filterd by a simple command for a shell.
    #[track_caller]
    pub fn start_by_shell(&mut self, line: &str) {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "sh", "-c", &format!("exec {line}")]);
        self.daemon = Some(self.host.entered(|| Daemon::start(&mut command, &self.home)));
    }

    /// To be started by whoever has entered the host.
    pub(super) fn command(&self, config: &str, arguments: &[&str]) -> Command {
        // A test run that is killed takes its daemons with it.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        command.args(self.time.iter().flat_map(OtherTime::words));
        command.args(self.run.iter().flat_map(OwnRun::words));
        command.args(&self.through);
        command.arg(home::binary());
        command.envs(self.credentials.iter().map(|directory| ("CREDENTIALS_DIRECTORY", directory)));
        let mut own = daemon_arguments(&self.home, config);
        if arguments.contains(&"--user") {
            own = without(own, &["--user"]);
        }
        command.args(own).args(arguments);
        command
    }

    /// Whoever is started from here on lives in another time.
    pub fn lives_in(&mut self, time: OtherTime) {
        self.time = Some(time);
    }

    /// Whoever is started from here on has a /run of its own, in which nobody is logged in.
    pub fn lives_with_its_own_run(&mut self) -> OwnRun {
        self.run.insert(OwnRun::in_home(&self.home)).clone()
    }

    /// Whoever is started from here on is started by these words, which leave it its process id.
    pub fn starts_through<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        self.through = words.into_iter().map(str::to_owned).collect();
    }

    /// Whoever is started from here on finds what systemd would hand over there.
    pub fn has_credentials(&mut self, directory: &Path) {
        self.credentials = Some(directory.to_owned());
    }

    /// The words with which filterd is started for this configuration.
    pub fn arguments(&self, config: &str) -> Vec<String> {
        daemon_arguments(&self.home, config)
    }

    /// Starts one more filterd, with a home of its own, that is not expected to live: how does it end?
    pub fn another_filterd(&self, config: &str) -> Reply {
        self.another_filterd_with(config, &[])
    }

    /// The same with these further arguments, which count more than its own.
    pub fn another_filterd_with(&self, config: &str, arguments: &[&str]) -> Reply {
        let home = Home::new();
        let own = without(daemon_arguments(&home, config), arguments);
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "30"]).args(&self.through).arg(home::binary());
        self.host.entered(|| Reply::of(command.args(own).args(arguments).env("NO_COLOR", "1")))
    }

    /// Lets every user of the machine read what is in its home.
    pub fn readable_by_all(&self) {
        self.home.readable_by_all();
    }

    /// Waits until filterd has written this.
    #[track_caller]
    pub fn wait_for_log(&mut self, words: &str) {
        let daemon = self.daemon.as_mut().expect("a filterd is running");
        daemon.wait_for_log(words);
    }

    /// Forgets what it has written so far.
    pub fn forget_log(&mut self) {
        self.daemon.as_mut().expect("a filterd is running").forget_log();
    }

    /// Ends filterd the way systemd does.
    #[track_caller]
    pub fn stop(&mut self) -> ExitStatus {
        self.end(Signal::SIGTERM)
    }

    /// Asks filterd to end, and starts the next one in the moment in which its socket is gone.
    #[track_caller]
    pub fn stop_and_start_at_once(&mut self, config: &str) {
        let before = self.daemon.take().expect("a filterd is running");
        let mut command = self.command(config, &[]);
        before.signal(Signal::SIGTERM);
        let mut after = self.host.entered(|| Daemon::spawn(&mut command, &self.home));
        after.forget_log();
        assert!(before.wait().success(), "the one before ends well");
        after.wait_for_log("ready: ");
        self.daemon = Some(after);
    }

    /// Ends filterd with this signal, and waits for its end.
    #[track_caller]
    pub fn end(&mut self, signal: Signal) -> ExitStatus {
        self.daemon.take().expect("a filterd is running").end(signal)
    }

    /// Waits until filterd ends by itself: how, and what had it written?
    #[track_caller]
    pub fn wait_for_the_end(&mut self) -> (ExitStatus, String) {
        let daemon = self.daemon.take().expect("a filterd is running");
        let log = self.home.path("log");
        (daemon.wait(), std::fs::read_to_string(log).expect("it has a log"))
    }

    /// The running filterd.
    pub fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("a filterd is running")
    }

    /// The places of the running filterd.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Writes a file beside the configuration, where that can name it `$HOME/name`.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        self.home.write(name, text)
    }

    /// Writes the configuration anew; filterd hears of it by a reload.
    pub fn configure(&self, config: &str) {
        self.home.write("filterd.yaml", &said(config));
    }
}

thread_local! {
    /// The mode of configurations that name none.
    static MODE: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Tells a story, with this mode wherever its configuration names none.
pub fn in_mode(mode: &'static str, story: impl FnOnce()) {
    MODE.set(Some(mode));
    story();
    MODE.set(None);
}

/// A configuration that says nothing is none; a story that says nothing means one that blocks nothing.
fn said(config: &str) -> String {
    let config = if config.is_empty() { "block: []" } else { config };
    match MODE.get().filter(|_| !config.contains("mode:")) {
        Some(mode) => format!("{config}\nmode: {mode}"),
        None => config.to_owned(),
    }
}

/// Those of `arguments` whose flags are not among these.
pub(super) fn without(arguments: Vec<String>, flags: &[&str]) -> Vec<String> {
    arguments.chunks(2).filter(|pair| !flags.contains(&pair[0].as_str())).flatten().cloned().collect()
}

pub(super) fn daemon_arguments(home: &Home, config: &str) -> Vec<String> {
    let file = home.write("filterd.yaml", &said(config));
    let mut arguments = home.daemon_arguments();
    arguments.extend(["--config".to_owned(), file.display().to_string()]);
    if !config.contains("interfaces:") {
        arguments.extend(["--iface".to_owned(), "eth0".to_owned()]);
    }
    arguments
}
