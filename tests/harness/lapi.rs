//! A real local API of CrowdSec in the host's namespace, which decides what tests have it decide; and one that follows a script.
//!
//! The real one is Debian's 1.4.6. It has no central API, no plugins and no metrics.

mod decision;
mod exchange;
mod files;
mod scripted;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::limited::{LimitedChild, LimitedCommand};
use crate::namespace::Entrance;
use crate::{Authority, Net, SOON};

pub use decision::LapiDecision;
use exchange::Exchange;
pub use scripted::{LapiAnswer, PAGE, ScriptedLapi};

/// The port at which a LAPI listens by default, on 127.0.0.1.
pub const PORT: u16 = 8080;

/// The key of the bouncer `filterd`. It must appear in no log and no state.
pub const KEY: &str = "abracadabra-of-the-bouncer";

/// The unit of the organization that certificates of bouncers name.
pub const BOUNCERS: &str = "bouncers";

/// The machine that reports alerts, and its password.
const MACHINE: &str = "tests";
const PASSWORD: &str = "open-sesame-of-the-machine";

/// What crowdsec writes when it begins to follow the logs.
const FOLLOWS: &str = "Starting processing data";

/// What a LAPI has besides its decisions.
#[derive(Clone, Copy)]
pub struct LapiSetup<'a> {
    /// It listens here, on 127.0.0.1.
    pub port: u16,
    /// It speaks TLS with a certificate of this authority. Bouncers may show a certificate of the unit [`BOUNCERS`].
    pub authority: Option<&'a Authority>,
    /// CrowdSec follows this log, and bans addresses by the scenario `crowdsecurity/ssh-bf`.
    pub log: Option<&'a Path>,
}

impl Default for LapiSetup<'_> {
    fn default() -> Self {
        Self { port: PORT, authority: None, log: None }
    }
}

/// A running LAPI with the bouncer `filterd`; gone when dropped.
#[derive(Debug)]
pub struct Lapi {
    child: Option<Child>,
    entrance: Entrance,
    directory: PathBuf,
    exchange: Exchange,
    followed: Option<PathBuf>,
}

impl Lapi {
    /// True if this machine has crowdsec and cscli. Tests print `SKIPPED` otherwise.
    pub fn is_here() -> bool {
        let works = |program: &str, word: &str| {
            Command::new(program).arg(word).limited_output().is_ok_and(|output| output.status.success())
        };
        files::root().is_some() && works("crowdsec", "-version") && works("cscli", "version")
    }

    /// Starts one without decisions, over plain HTTP, and waits until it answers.
    ///
    /// The thread that starts it must live as long as it does.
    #[track_caller]
    pub fn begin(net: &Net) -> Self {
        Self::begin_with(net, LapiSetup::default())
    }

    /// The same with another port, with TLS, or with a log that CrowdSec follows.
    #[track_caller]
    pub fn begin_with(net: &Net, setup: LapiSetup<'_>) -> Self {
        let directory = net.home().path(&format!("lapi-{}", setup.port));
        files::write(&directory, &setup);
        let client = setup.authority.map(Authority::trusting_client);
        let exchange = Exchange::new(net.host().entrance(), setup.port, client);
        let entrance = net.host().entrance();
        let followed = setup.log.map(Path::to_owned);
        let mut lapi = Self { child: None, entrance, directory, exchange, followed };
        lapi.register();
        lapi.start();
        lapi
    }

    /// Its address, for `api_url`.
    pub fn url(&self) -> String {
        self.exchange.url()
    }

    /// A file with the bouncer's key. The daemon's user can read it, others cannot.
    pub fn key(&self) -> PathBuf {
        self.directory.join("key")
    }

    /// What it has written so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it is running").id()
    }

    /// Runs cscli, which must succeed, and returns what it prints.
    #[track_caller]
    pub fn cscli(&self, words: &[&str]) -> String {
        let said = self.try_cscli(words);
        said.unwrap_or_else(|said| panic!("cscli {words:?} failed: {said}\nthe log of LAPI:\n{}", self.log()))
    }

    fn try_cscli(&self, words: &[&str]) -> Result<String, String> {
        let mut cscli = self.entrance.command("cscli");
        cscli.arg("-c").arg(files::configuration(&self.directory)).arg("--error").args(words);
        let output = cscli.stdin(Stdio::null()).limited_output().expect("cscli can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Adds a decision as `cscli` does. Scopes are `Ip`, `Range`, `AS` and `Country`, a duration is such as `4h`.
    #[track_caller]
    pub fn ban(&self, scope: &str, value: &str, duration: &str, reason: &str) {
        let words = ["--scope", scope, "--value", value, "--duration", duration, "--reason", reason];
        let words = [&["decisions", "add"], &words[..]].concat();
        // LAPI 1.4.6 refuses a change that begins while it notes that a bouncer has asked. It may keep a part of it.
        for _ in 0..5 {
            match self.try_cscli(&words) {
                Err(said) if said.contains("database is locked") => {
                    println!("LAPI locked its database");
                    _ = self.try_cscli(&["decisions", "delete", "--value", value]);
                }
                Err(said) => panic!("cscli {words:?} failed: {said}\nthe log of LAPI:\n{}", self.log()),
                Ok(_) => return,
            }
        }
        panic!("LAPI locks its database for ever");
    }

    /// Deletes the decisions of this scope on exactly this value. At least one must exist.
    ///
    /// `cscli decisions delete --ip` would take ranges along that contain the address.
    #[track_caller]
    pub fn unban(&self, scope: &str, value: &str) {
        let (scope, value) = (exchange::quoted(decision::stored_scope(scope)), exchange::quoted(value));
        let path = format!("/v1/decisions?scopes={scope}&value={value}");
        let answer = self.ask_as_machine("DELETE", &path, "");
        assert!(answer["nbDeleted"].as_str().is_some_and(|deleted| deleted != "0"), "{path}: {answer}");
    }

    /// Adds many decisions, with the origins and types that they name, by one alert.
    ///
    /// `cscli decisions import` is no help: that of 1.4.6 ignores scopes and origins.
    #[track_caller]
    pub fn import(&self, decisions: &[LapiDecision]) {
        let decisions: Vec<_> = decisions.iter().map(LapiDecision::reported).collect();
        // A decision lasts from `stop_at` on.
        let now = now();
        let alert = json!([{
            "capacity": 0, "decisions": decisions, "events": [], "events_count": 1, "leakspeed": "0",
            "message": "imported", "scenario": "tests", "scenario_hash": "", "scenario_version": "",
            "simulated": false, "source": {"scope": "tests", "value": ""}, "start_at": now, "stop_at": now,
        }]);
        self.ask_as_machine("POST", "/v1/alerts", &alert.to_string());
    }

    /// Writes to the log that CrowdSec follows: this address guessed eight names of users. It is banned soon.
    pub fn log_guesses_from(&self, address: &str) {
        let log = self.followed.as_ref().expect("CrowdSec follows a log");
        let output = Command::new("date").arg("+%b %e %T").limited_output().expect("date can be run");
        let time = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let mut file = File::options().append(true).open(log).expect("a test has made it");
        for name in 0..8 {
            let line = format!("{time} host sshd[4711]: Invalid user guess{name} from {address} port 40001");
            writeln!(file, "{line}").expect("a home can be written");
        }
    }

    /// Asks as the bouncer does, with its key. `/v1/decisions/stream` moves the bouncer's cursor, so filterd misses a delta.
    #[track_caller]
    pub fn ask_as_bouncer(&self, path: &str) -> Value {
        let (status, body) = self.exchange.ask("GET", path, &format!("X-Api-Key: {KEY}\r\n"), "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("LAPI speaks JSON")
    }

    /// Ends it as systemd does. Its database stays.
    #[track_caller]
    pub fn stop(&mut self) {
        self.end(Signal::SIGTERM);
    }

    /// Kills it. Its database stays.
    #[track_caller]
    pub fn kill(&mut self) {
        self.end(Signal::SIGKILL);
    }

    /// Starts it with the database that it had, and waits until it answers.
    #[track_caller]
    pub fn start(&mut self) {
        assert!(self.child.is_none(), "it is running");
        let log = self.directory.join("log");
        let before = self.log().len();
        let file = File::options().create(true).append(true).open(log).expect("a home can be written");
        let also = file.try_clone().expect("a file can be shared");
        // A test run that is killed takes it along.
        let mut command = self.entrance.command("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "crowdsec", "-c"]);
        command.arg(files::configuration(&self.directory));
        if self.followed.is_none() {
            command.arg("-no-cs");
        }
        let command = command.stdin(Stdio::null()).stdout(file).stderr(also);
        self.child = Some(command.spawn().expect("nsenter can be run"));
        self.wait_until_ready(before);
    }

    /// Restarts it with a new database, as if the old one was lost. The bouncer has the same key.
    #[track_caller]
    pub fn with_empty_database(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
        files::remove_database(&self.directory);
        self.register();
        self.start();
    }

    /// Makes the database, with the bouncer and the machine in it. No LAPI needs to run.
    #[track_caller]
    fn register(&self) {
        let credentials = self.directory.join("credentials.yaml");
        let credentials = credentials.to_str().expect("a home has a plain name");
        self.cscli(&["machines", "add", MACHINE, "--password", PASSWORD, "--force", "-f", credentials]);
        files::write_credentials(&self.directory, &self.url(), MACHINE, PASSWORD);
        self.cscli(&["bouncers", "add", "filterd", "-k", KEY]);
    }

    #[track_caller]
    fn wait_until_ready(&mut self, log_before: usize) {
        let begun = Instant::now();
        loop {
            let log = self.log();
            let follows = self.followed.is_none() || log[log_before..].contains(FOLLOWS);
            if follows
                && self.exchange.try_ask("GET", "/health", "", "").is_some_and(|(status, _)| status == 200)
            {
                return;
            }
            let child = self.child.as_mut().expect("it was just started");
            let ended = child.try_wait().expect("it is our child");
            assert!(ended.is_none(), "LAPI ended ({ended:?}); its log:\n{log}");
            assert!(begun.elapsed() < SOON, "LAPI does not answer; its log:\n{log}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    fn end(&mut self, signal: Signal) {
        let mut child = self.child.take().expect("it is running");
        let id = i32::try_from(child.id()).expect("process ids are small");
        kill(Pid::from_raw(id), signal).expect("it is our child and not yet waited for");
        child.limited_wait().expect("it ends");
    }

    #[track_caller]
    fn ask_as_machine(&self, method: &str, path: &str, body: &str) -> Value {
        let login = json!({"machine_id": MACHINE, "password": PASSWORD}).to_string();
        let (status, answer) = self.exchange.ask("POST", "/v1/watchers/login", "", &login);
        assert_eq!(status, 200, "the machine cannot log in: {answer}");
        let answer: Value = serde_json::from_str(&answer).expect("LAPI speaks JSON");
        let token = answer["token"].as_str().expect("it is a token");
        let header = format!("Authorization: Bearer {token}\r\n");
        let (status, answer) = self.exchange.ask(method, path, &header, body);
        assert!(matches!(status, 200 | 201), "{method} {path}: {status} {answer}");
        serde_json::from_str(&answer).expect("LAPI speaks JSON")
    }
}

impl Drop for Lapi {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            _ = child.kill();
            _ = child.limited_wait();
        }
        if thread::panicking() {
            let log = self.log();
            // Each decision of an import is a line.
            let lines: Vec<_> = log.lines().rev().take(40).collect();
            eprintln!("-- the end of LAPI's log:");
            lines.iter().rev().for_each(|line| eprintln!("{line}"));
        }
    }
}

/// In the form of RFC 3339.
fn now() -> String {
    let output = Command::new("date").args(["-u", "+%FT%T.%NZ"]).limited_output().expect("date can be run");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
