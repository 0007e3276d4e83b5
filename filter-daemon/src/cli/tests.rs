//! Command lines, and what they are taken for.

use std::time::Duration;

use super::*;
use crate::config::Mode;

fn parsed(line: &str) -> Result<Invocation, clap::Error> {
    read(line.split_whitespace().map(OsString::from), None)
}

fn run(line: &str) -> Run {
    match parsed(line) {
        Ok(Invocation::Run(run)) => run,
        other => panic!("{line}: {other:?}"),
    }
}

fn client(line: &str) -> ClientInvocation {
    match parsed(line) {
        Ok(Invocation::Client(client)) => client,
        other => panic!("{line}: {other:?}"),
    }
}

fn error(line: &str) -> String {
    let error = parsed(line).expect_err(line);
    assert_eq!(error.exit_code(), Exit::Usage as i32, "{line}");
    error.to_string()
}

#[test]
fn the_tree_is_sound() {
    Arguments::command().debug_assert();
}

#[test]
fn interfaces_alone_run_the_daemon() {
    let expected = Run {
        interfaces: vec!["eth0".into(), "eth1".into()],
        config: ConfigFile::Usual(places::CONFIG.into()),
        mode: None,
        socket: places::SOCKET.into(),
        state_dir: places::STATE.into(),
        pin_dir: places::PINS.into(),
        user: crate::accounts::default_user(None),
        on_exit: None,
        take_over: false,
        rehearses: false,
        timeout: Some(TIMEOUT),
        log: Log::default(),
        json: false,
    };
    assert_eq!(run("filterd --iface eth0 --iface eth1"), expected);
    assert_eq!(run("filterd run --iface eth0 --iface eth1"), expected);
    assert_eq!(run("filterd --iface eth0 run --iface eth1"), expected);
}

#[test]
fn every_place_can_be_moved() {
    let run = run("filterd --config f.yaml --mode tc --socket s --state-dir d --pin-dir /sys/fs/bpf/x");
    assert_eq!(run.config, ConfigFile::Named("f.yaml".into()));
    assert_eq!(run.mode, Some(Mode::Tc));
    assert_eq!((run.socket, run.state_dir), ("s".into(), "d".into()));
    assert_eq!(run.pin_dir, PathBuf::from("/sys/fs/bpf/x"));
}

#[test]
fn the_broker_logs_as_its_daemon_does() {
    for (line, words) in [
        ("", &[][..]),
        ("-q", &["--quiet"]),
        ("--log-format json -q", &["--quiet", "--log-format=json"]),
        ("--json", &["--log-format=json"]),
        ("--json --log-format text", &[]),
    ] {
        let log = run(&format!("filterd --iface eth0 {line}")).log;
        assert_eq!(log.words(), words);
        let words = words.join(" ");
        match parsed(&format!("filterd {words} broker /sys/fs/bpf/x")) {
            Ok(Invocation::Keep { log: told, .. }) => assert_eq!(told, log),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn socket_option_precedes_environment_and_default() {
    let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
    let socket = |line, environment: Option<&str>| match read(words(line), environment.map(OsString::from)) {
        Ok(Invocation::Client(client)) => client.endpoint.socket,
        other => panic!("{other:?}"),
    };
    assert_eq!(socket("filterd ping --socket a", Some("b")), PathBuf::from("a"));
    assert_eq!(socket("filterd --socket a ping", Some("b")), PathBuf::from("a"));
    assert_eq!(socket("filterd ping", Some("b")), PathBuf::from("b"));
    assert_eq!(socket("filterd ping", None), PathBuf::from(places::SOCKET));
}

#[test]
fn global_options_may_stand_anywhere() {
    let client = client("filterd -q add 203.0.113.7 --json --ttl 2h");
    assert!(client.quiet && client.json);
    assert_eq!(self::client("filterd --socket a ping --socket b").endpoint.socket, PathBuf::from("b"));
    assert_eq!(self::client("filterd --socket a ping").endpoint.socket, PathBuf::from("a"));
    assert_eq!(run("filterd run --iface eth0 --socket b").socket, PathBuf::from("b"));
    assert!(matches!(client.verb, Verb::Add(_)));
    assert!(matches!(self::client("filterd del 203.0.113.7").verb, Verb::Remove(_)));
    assert!(matches!(self::client("filterd add -").verb, Verb::Add(_)));
}

#[test]
fn timeout_limits_how_long_a_daemon_is_silent() {
    let timeout = |line: &str| client(line).endpoint.timeout;
    assert_eq!(timeout("filterd ping"), Some(TIMEOUT));
    assert_eq!(timeout("filterd ping --timeout 2s"), Some(Duration::from_secs(2)));
    assert_eq!(timeout("filterd --timeout 1min ping"), Some(Duration::from_secs(60)));
    assert_eq!(timeout("filterd ping --timeout 0"), None);
    assert!(error("filterd ping --timeout soon").contains("0 to wait forever"));
}

#[test]
fn foreign_commands_get_a_filterd_suggestion() {
    assert!(error("filterd block 192.0.2.1").contains("`filterd add` blocks"));
    assert!(error("filterd unban 192.0.2.1").contains("`filterd remove`"));
    assert!(error("filterd 192.0.2.1").contains("`filterd test 192.0.2.1`"));
    assert!(error("filterd explode").contains("unrecognized subcommand"));
}

#[test]
fn help_may_be_a_command() {
    for (line, told) in [
        ("filterd help", "Exit codes:"),
        ("filterd help add", "filterd add 203.0.113.7"),
        ("filterd help help", "Print help for filterd or a command"),
        ("filterd help allow remove", "Usage: filterd allow remove "),
    ] {
        let help = parsed(line).expect_err("help");
        assert_eq!(help.exit_code(), 0, "{line}");
        assert!(help.to_string().contains(told), "{line}: {help}");
    }
    assert!(error("filterd help ban").contains("`filterd add` blocks"));
}

#[test]
fn bare_filterd_names_an_existing_configuration() {
    assert!(
        what_to_type(Path::new("/"))
            .ends_with("There is a configuration, /: `sudo filterd run` starts filterd with it.")
    );
    assert_eq!(what_to_type(Path::new("/nowhere")), WHAT_TO_TYPE);
}

#[test]
fn invalid_options_are_explained() {
    assert!(error("filterd --iface eth0 add 203.0.113.7").contains("--iface is an option of `filterd run`"));
    assert!(error("filterd --iface eth/0").contains("'eth/0'"));
    assert!(error("filterd --iface eth0,eth1").contains("write --iface eth0 --iface eth1"));
    assert!(error("filterd --iface eth*").contains("is not a pattern"));
    assert!(error("filterd --iface eth0 --mode fast").contains("auto, native or tc"));
    assert!(error("filterd --iface eth0 --on-exit stay").contains("detach or keep"));
    assert!(
        error("filterd --on-exit keep add 203.0.113.7").contains("--on-exit is an option of `filterd run`")
    );
    assert!(error("filterd add").contains("<TARGET>"));
    assert!(error("filterd add 203.0.113.7 --ttl 2x").contains("1h30m"));
    assert!(error("filterd add 203.0.113.7 --list Bad!").contains("a-z"));
    assert!(error("filterd list --family 5").contains("[possible values: 4, 6]"));
    assert!(error("filterd explode").contains("explode"));
    assert!(error(&format!("filterd ping --socket /{}", "x".repeat(107))).contains("at most 107"));
}

/// Commands in the middle of a text, which no test types.
#[test]
fn commands_in_the_documentation_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = vec![root.join("README.md"), root.join("SECURITY.md")];
    add_pages(&root.join("docs"), &mut pages);
    add_pages(&root.join("filter-daemon/src/cli/manual/pages"), &mut pages);
    let mut found = 0;
    for page in pages {
        // Without its fences, a block is text whose backticks come in pairs.
        let text = std::fs::read_to_string(&page).expect("it can be read").replace("```", "");
        for command in
            text.split('`').skip(1).step_by(2).filter_map(|part| part.strip_prefix("sudo ").or(Some(part)))
        {
            let ours = command.split(['|', '\\', '<', '>', ';']).next().unwrap_or_default().trim();
            let is_whole = ours.starts_with("filterd ") && !ours.contains(['\n', '…', '[', '(']);
            if is_whole && command != "filterd " {
                found += 1;
                assert!(is_known(ours), "{} names `{ours}`", page.display());
            }
        }
    }
    assert!(found > 80, "{found}");
}

/// The pages of a directory and of those below it.
fn add_pages(directory: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("it is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            add_pages(&path, pages);
        } else if path.extension().is_some_and(|kind| kind == "md" || kind == "txt") {
            pages.push(path);
        }
    }
}

/// Does clap know all words of this line? Missing and made-up values are no fault.
fn is_known(line: &str) -> bool {
    let line =
        line.replace(" X", " 203.0.113.7").replace(" ADDRESS", " 203.0.113.7").replace(" NAME", " drop");
    let Err(error) = parsed(&line) else { return true };
    !matches!(
        error.kind(),
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand | ErrorKind::ArgumentConflict
    )
}
