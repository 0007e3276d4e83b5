//! A list that is fetched: it changes, moves or stays as it is, its server fails and comes back, whoever fetches it dies, and
//! it comes into the configuration and goes again.

use std::thread::{scope, sleep};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Life;
use super::heldback::Copy;
use super::plan::FED;
use super::prefix::Prefix;
use super::wanted::During;
use crate::fetches_of;

/// What a server answers that is not well.
const FAILURES: [&str; 4] = [
    "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n203.0.113.99\n",
    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n",
    "no http at all\r\n\r\n",
];

/// What it answers as if all were well: a gateway's page, and one in which a list begins.
const PAGES: [&str; 2] = ["<!DOCTYPE html>\n<title>Sign in</title>\n", "203.0.113.99\n<html>\nno\nlist\n"];

impl Life {
    pub(super) fn feed(&mut self) -> Vec<Prefix> {
        let rows = &self.reference.configured.rows;
        if rows.values().any(|row| row.id.is_some() && row.copy == Copy::Gone) {
            // A reload reads again what a refresh does not.
            return self.reload();
        }
        if self.plan.fed.is_none() {
            return self.subscribe();
        }
        match self.random.below(8) {
            0 => self.unsubscribe(),
            1..4 => self.fail_to_fetch(),
            _ => self.publish(),
        }
    }

    /// The server has nothing yet, so that it is plain when the first of it comes into force.
    fn subscribe(&mut self) -> Vec<Prefix> {
        self.site.fails("503 Service Unavailable");
        self.plan.fed = Some(Vec::new());
        self.note(format!("reload: list {FED} is new, and its server has nothing yet"));
        self.net.configure(&self.plan.text());
        let mut touched = self.reload_as_planned();
        if self.plan.fed.is_some() {
            touched.extend(self.publish());
        }
        touched
    }

    fn unsubscribe(&mut self) -> Vec<Prefix> {
        self.plan.fed = None;
        self.note(format!("reload: list {FED} is gone from the configuration"));
        self.net.configure(&self.plan.text());
        self.reload_as_planned()
    }

    /// Another list, of which a part may be what it was.
    fn publish(&mut self) -> Vec<Prefix> {
        let size = self.size().min(5_000);
        let mut targets = self.world.batch(&mut self.random, size).targets;
        let before = self.plan.fed.clone().unwrap_or_default();
        let stays = self.random.below(3);
        targets.extend(
            before.iter().enumerate().filter(|(place, _)| place % 3 < stays).map(|(_, target)| target),
        );
        targets.sort();
        targets.dedup();
        self.note(format!("list {FED} is published anew with {} targets, and fetched", targets.len()));
        let (list, how) = (lines(&targets), self.random.below(3));
        match how {
            0 => self.site.has_elsewhere(&list),
            1 => self.site.has_tagged("life", &list),
            _ => self.site.has(&list),
        }
        self.plan.fed = Some(targets);
        let begun = self.now();
        let reply = self.net.filterd(["lists", "refresh", FED, "--json"]).succeeds();
        let during = During(begun, self.now());
        let touched = self.believe_reloaded(&reply, during);
        if how == 1 {
            self.note(format!("list {FED} is asked for again, and has not changed"));
            self.net.filterd(["lists", "refresh", FED]).succeeds().says("not modified").says("(304");
            // Another list is to have another tag.
            self.site.has(&list);
            self.net.filterd(["lists", "refresh", FED]).succeeds().says("unchanged").says("(200)");
        }
        touched
    }

    /// Whoever fetches dies, before anything has come or while it comes.
    fn fetch_dies(&mut self) {
        self.note(format!("the process that fetches list {FED} is killed"));
        self.site.hangs();
        let (home, daemon) = (self.net.home(), self.net.daemon().id());
        scope(|scope| {
            let asks = scope.spawn(|| home.filterd(["lists", "refresh", FED]));
            while !asks.is_finished() {
                for process in fetches_of(daemon) {
                    // It may just have ended by itself.
                    _ = kill(Pid::from_raw(i32::try_from(process).expect("a number")), Signal::SIGKILL);
                }
                sleep(Duration::from_millis(1));
            }
            asks.join().expect("it ends").exits(7).says("NOT FETCHED").complains("ended before it was done");
        });
    }

    /// What was good stays; and then the server has it again, whenever it is asked.
    fn fail_to_fetch(&mut self) -> Vec<Prefix> {
        let fed = self.plan.fed.clone().unwrap_or_default();
        // Where nothing is on it, what can be read of a page is better than nothing.
        let has_page = !fed.is_empty() && self.random.below(3) == 0;
        if has_page {
            let page = PAGES[self.random.below(PAGES.len())];
            self.note(format!("the server of list {FED} has a page: {page:?}"));
            self.site.has(page);
            self.net.filterd(["lists", "refresh", FED]).exits(7).says("NOT UPDATED");
        } else if self.random.below(6) == 0 {
            self.fetch_dies();
        } else if self.random.below(6) == 0 {
            self.note(format!("the server of list {FED} says nothing"));
            self.site.hangs();
            self.net
                .filterd(["lists", "refresh", FED])
                .exits(7)
                .says("NOT FETCHED")
                .complains("longer than 1 s");
        } else {
            let failure = FAILURES[self.random.below(FAILURES.len())];
            self.note(format!("the server of list {FED} answers {failure:?}"));
            self.site.answers(failure);
            self.net.filterd(["lists", "refresh", FED]).exits(7).says("NOT FETCHED");
        }
        self.site.has(&lines(&fed));
        // What is held back is told by every reload, until the list is there again.
        if has_page || self.random.below(2) == 0 {
            self.net.filterd(["lists", "refresh", FED]).succeeds();
        }
        fed
    }
}

fn lines(targets: &[Prefix]) -> String {
    targets.iter().map(|target| format!("{target}\n")).collect()
}
