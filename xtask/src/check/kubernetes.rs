//! What is given to Kubernetes is what its schema allows, and nothing that it would leave out without a word.

use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use crate::tools::python;

/// It brings the schemas of Kubernetes' releases.
const VALIDATOR: &str = include_str!("../tools/python/kubernetes.txt");

const DAEMON_SET: &str = "configs/kubernetes/daemonset.yaml";

pub fn complain() -> Result<()> {
    let python = python::with("kubernetes", VALIDATOR)?;
    let mut validate = Command::new(python.with_file_name("kubernetes-validate"));
    validate.args(["--strict", "--quiet", DAEMON_SET]).current_dir(workspace::root());
    process::run(&mut validate).with_context(|| format!("{DAEMON_SET} is not as Kubernetes wants it"))
}
