//! Tests of checks on invented machines, with files of /proc, /sys, /etc and /run.

use std::fs;

use tempfile::TempDir;

use super::*;

/// A machine with these files.
pub fn machine(files: &[(&str, &str)]) -> (TempDir, Subject) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let subject = Subject {
        interfaces: Vec::new(),
        config: None,
        is_config_named: true,
        socket: "/nowhere/control.sock".into(),
        state_dir: root.path().join("var/lib/filterd"),
        pin_dir: root.path().join("sys/fs/bpf/filterd"),
        daemon: DaemonCheck::Nobody,
        root: root.path().to_owned(),
    };
    (root, subject)
}

fn told(files: &[(&str, &str)], check: fn(&Subject, &mut Findings)) -> Vec<(Health, String, String)> {
    let (_root, subject) = machine(files);
    let mut findings = Findings::default();
    check(&subject, &mut findings);
    let all = findings.all().iter();
    all.map(|it| (it.health, it.message.clone(), it.remedy.clone().unwrap_or_default())).collect()
}

#[test]
fn only_an_active_csf_is_reported() {
    let conf = ("etc/csf/csf.conf", "TESTING = \"0\"\n");
    let deny = ("etc/csf/csf.deny", "# comment\n203.0.113.7 # lfd\n\n198.51.100.0/24\n");
    let is_csf = |said: &(Health, String, String)| said.1.starts_with("CSF is installed");
    let said = told(&[conf, deny], blocklists::check);
    let csf = said.iter().find(|said| is_csf(said)).unwrap();
    assert!(
        csf.0 == Health::Warn
            && csf.1.contains("denies 2 addresses")
            && csf.2 == "filterd import /etc/csf/csf.deny",
        "{csf:?}"
    );
    let off = told(&[conf, deny, ("etc/csf/csf.disable", "")], blocklists::check);
    assert!(!off.iter().any(is_csf), "{off:?}");
}

#[test]
fn other_services_are_recognised_by_process() {
    let banner = ("proc/312/comm", "fail2ban-server\n");
    let said = told(&[banner], blocklists::check);
    assert!(said.iter().any(|said| said.1.starts_with("fail2ban runs (process 312)")), "{said:?}");
    let keeper = ("proc/7/comm", "chronyd\n");
    assert_eq!(told(&[keeper], clock::check)[0].1, "kept by chronyd");
    let timesync = ("proc/8/comm", "systemd-timesyn\n");
    assert_eq!(told(&[timesync], clock::check)[0].0, Health::Warn);
    let synchronised = ("run/systemd/timesync/synchronized", "");
    assert_eq!(told(&[timesync, synchronised], clock::check)[0].0, Health::Ok);
    assert_eq!(told(&[("proc/9/comm", "bash\n")], clock::check)[0].0, Health::Warn);
}

#[test]
fn jit_settings_are_read_from_their_files() {
    let enable = |word| ("proc/sys/net/core/bpf_jit_enable", word);
    assert_eq!(told(&[enable("1\n")], jit::check)[0].0, Health::Ok);
    assert_eq!(told(&[enable("0\n")], jit::check)[0].0, Health::Warn);
    let harden = ("proc/sys/net/core/bpf_jit_harden", "2\n");
    assert_eq!(told(&[enable("1\n"), harden], jit::check)[0].0, Health::Warn);
}

#[test]
fn types_of_the_kernel_are_not_needed() {
    let there = told(&[("sys/kernel/btf/vmlinux", "")], btf::check);
    let missing = told(&[], btf::check);
    assert_eq!((there[0].0, missing[0].0), (Health::Ok, Health::Ok));
    assert!(missing[0].1.contains("does not need them") && there[0].1 != missing[0].1);
}

#[test]
fn pins_outside_bpffs_are_reported() {
    let said = told(&[("sys/fs/bpf/.keep", "")], bpffs::check);
    assert_eq!((said[0].0, said[0].2.as_str()), (Health::Warn, "mount -t bpf bpf /sys/fs/bpf"));
    let (_root, mut subject) = machine(&[]);
    subject.pin_dir = subject.root.join("elsewhere");
    let mut findings = Findings::default();
    bpffs::check(&subject, &mut findings);
    let place = subject.pin_dir.display().to_string();
    let wanted = format!("mkdir -p {place} && mount -t bpf bpf {place}");
    assert_eq!(
        (findings.all()[0].health, findings.all()[0].remedy.as_deref()),
        (Health::Fail, Some(wanted.as_str()))
    );
}

#[test]
fn state_directory_that_is_a_file_is_reported() {
    let said = told(&[("var/lib/filterd", "")], state::check);
    assert!(said[0].0 == Health::Fail && said[0].1.ends_with("is no directory"), "{said:?}");
}

#[test]
fn unreadable_items_share_a_line() {
    let mut findings = Findings::default();
    findings.could_not_see("nftables");
    findings.could_not_see("the pins");
    findings.unseen();
    findings.unseen();
    let all = findings.all();
    assert_eq!((all.len(), all[0].message.as_str()), (1, "not checked without root: nftables, the pins"));
    assert_eq!(all[0].remedy.as_deref(), Some("sudo filterd doctor"));
}

#[test]
fn without_daemon_the_configuration_names_interfaces() {
    let (root, mut subject) = machine(&[("f.yaml", "interfaces: [eth1, eth0]\n")]);
    subject.config = Some(root.path().join("f.yaml"));
    subject.interfaces = vec!["eth0".into()];
    let mut findings = Findings::default();
    let wanted = configuration::check(&subject, &mut findings).interfaces;
    assert_eq!(wanted, configuration::WantedInterfaces::Named(vec!["eth0".into(), "eth1".into()]));
    (subject.config, subject.is_config_named) = (Some("/nowhere".into()), false);
    subject.interfaces.clear();
    let wanted = configuration::check(&subject, &mut findings).interfaces;
    assert_eq!(wanted, configuration::WantedInterfaces::Nothing);
}

#[test]
fn a_kernel_without_seccomp_is_warned_of() {
    let actions = "proc/sys/kernel/seccomp/actions_avail";
    let health = |files: &[(&str, &str)]| told(files, seccomp::check)[0].0;
    assert_eq!(
        health(&[(actions, "kill_process kill_thread trap errno user_notif trace log allow\n")]),
        Health::Ok
    );
    assert_eq!(health(&[]), Health::Warn);
}
