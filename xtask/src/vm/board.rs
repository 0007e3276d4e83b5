//! What a guest of each kind is made of.

use crate::processor::Processor;
use crate::tools::{Tool, tool};

/// A machine as QEMU makes it.
pub struct Board {
    /// The program that does.
    pub qemu: &'static str,
    package: &'static str,
    pub machine: &'static str,
    /// What interprets its instructions: one with all that QEMU knows; of arm64 one that servers have, for signing pointers,
    /// as newer ones do, takes an interpreter most of its time.
    pub interpreted: &'static str,
    /// The line on which its kernel speaks. The tests speak on another one (`wire` in tests/vm/init.sh).
    pub console: &'static str,
}

const BOARDS: [Board; 2] = [
    Board {
        qemu: "qemu-system-x86_64",
        package: "qemu-system-x86",
        machine: "q35",
        interpreted: "max",
        console: "ttyS0",
    },
    Board {
        qemu: "qemu-system-aarch64",
        package: "qemu-system-arm",
        machine: "virt",
        interpreted: "neoverse-n1",
        console: "ttyAMA0",
    },
];

impl Board {
    /// The one that such kernels run on.
    pub fn of(processor: Processor) -> &'static Self {
        let [pc, arm] = &BOARDS;
        match processor {
            Processor::Amd64 => pc,
            Processor::Arm64 => arm,
        }
    }

    /// What makes it.
    pub fn tool(&self) -> Tool {
        tool(self.qemu, self.package)
    }

    /// Words for its second serial line, which leads to our own input and output: with QEMU's own prompt behind Ctrl-A, or not.
    /// A board for arm64 has one line of its own, so the second is on a card.
    pub fn second_line(&self, with_prompt: bool) -> Vec<&'static str> {
        let has_two = self.machine == "q35";
        match (has_two, with_prompt) {
            (true, false) => vec!["-serial", "stdio"],
            (true, true) => vec!["-serial", "mon:stdio"],
            (false, false) => vec!["-chardev", "stdio,id=told", "-device", "pci-serial,chardev=told"],
            (false, true) => vec![
                "-chardev",
                "stdio,mux=on,id=told",
                "-mon",
                "chardev=told",
                "-device",
                "pci-serial,chardev=told",
            ],
        }
    }
}
