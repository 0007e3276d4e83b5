//! Another filterd takes the place of the running one, or fails to.

use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::filterd::{daemon_arguments, without};
use super::{Net, PATIENCE};
use crate::home::{self, Home};
use crate::{Daemon, Reply, children_of};

/// When a newcomer was struck down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StruckDown {
    /// The one before goes on.
    Before,
    /// The one before has ended, and nobody runs.
    After,
    /// It was ready first.
    Never,
}

impl Net {
    /// Starts another filterd that takes the place of the running one.
    #[track_caller]
    pub fn succeed(&mut self, config: &str) {
        self.succeed_while(config, |_| ());
    }

    /// The same while something else is done.
    #[track_caller]
    pub fn succeed_while(&mut self, config: &str, meanwhile: impl FnOnce(&Home)) {
        let before = self.daemon.take().expect("a filterd is running");
        let home = &self.home;
        let mut command = self.command(config, &["--take-over"]);
        let mut daemon = self.host.entered(|| Daemon::spawn(&mut command, home));
        meanwhile(home);
        let ours = format!("\"pid\":{}}}", daemon.id());
        daemon.wait_for("it does not take over", || {
            home.filterd(["ping", "--json"]).output.contains(&ours).then_some(())
        });
        self.daemon = Some(daemon);
        assert!(before.wait().success(), "the one before ends well");
    }

    /// Starts two filterds at once, each of which is to take the place of the running one, and waits until one of the three
    /// is left. How does the one of the two end that is not?
    #[track_caller]
    pub fn succeed_by_either_of_two(&mut self, config: &str) -> ExitStatus {
        let before = self.daemon.take().expect("a filterd is running");
        let start = || {
            let mut command = self.command(config, &["--take-over"]);
            self.host.entered(|| Daemon::spawn(&mut command, &self.home))
        };
        let (one, other) = (start(), start());
        let begun = Instant::now();
        while one.is_running() && other.is_running() {
            assert!(begun.elapsed() < PATIENCE, "both go on; their log:\n{}", one.log());
            thread::sleep(Duration::from_millis(2));
        }
        assert!(before.wait().success(), "the one before ends well");
        let (mut left, gone) = if one.is_running() { (one, other) } else { (other, one) };
        let (home, ours) = (&self.home, format!("\"pid\":{}}}", left.id()));
        left.wait_for("it does not take over", || {
            home.filterd(["ping", "--json"]).output.contains(&ours).then_some(())
        });
        self.daemon = Some(left);
        gone.wait()
    }

    /// Starts another filterd that is to take the place of the running one, and is not expected to: how does it end?
    pub fn failing_succession(&self, config: &str, arguments: &[&str]) -> Reply {
        let own = without(daemon_arguments(&self.home, config), arguments);
        let mut command = self.host.command("timeout");
        command.args(["--signal=KILL", "60"]).args(&self.through);
        command.arg(home::binary()).args(own).args(arguments);
        Reply::of(command.arg("--take-over").env("NO_COLOR", "1"))
    }

    /// Starts another filterd that takes the place of the running one, and strikes it down at a moment in strace's words:
    /// `sendmsg:signal=KILL:when=3`. Sees to it all the time that nothing from `blocked` arrives.
    #[track_caller]
    pub fn succession_struck_down(&mut self, config: &str, moment: &str, blocked: &str) -> StruckDown {
        let call = moment.split(':').next().expect("it begins with a call");
        let own = daemon_arguments(&self.home, config);
        let mut command = self.host.command("setpriv");
        command.args(["--pdeathsig", "KILL", "strace", "-f", "-qqq", "-o", "/dev/null"]);
        command.args(["-e", &format!("trace={call}"), "-e", &format!("inject={moment}")]);
        command.arg(home::binary()).args(own).arg("--take-over");
        let mut newcomer = Daemon::spawn(&mut command, &self.home);
        newcomer.forget_log();
        let is_ready = |newcomer: &Daemon| newcomer.log().contains("ready: ");
        while newcomer.is_running() && !is_ready(&newcomer) {
            self.expect(blocked).dropped();
        }
        let came_through = is_ready(&newcomer);
        let ours = format!("\"pid\":{}}}", self.daemon().id());
        if !came_through && self.home.filterd(["ping", "--json"]).output.contains(&ours) {
            return StruckDown::Before;
        }
        let before = self.daemon.take().expect("a filterd was running");
        assert!(before.wait().success(), "the one before ends well");
        if !came_through {
            return StruckDown::After;
        }
        // It would go on when strace has ended.
        end_children(newcomer.id());
        StruckDown::Never
    }
}

fn end_children(process: u32) {
    let children = children_of(process).unwrap_or_default().into_iter();
    // One that is gone already has done what was asked of it.
    children.for_each(|child| _ = kill(Pid::from_raw(child as i32), Signal::SIGKILL));
}
