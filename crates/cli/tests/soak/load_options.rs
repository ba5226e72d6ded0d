//! When viewers of `weir load` come and go, checked against the server's log: a table of short runs, each with a condition on
//! the log. Options that do not depend on time are in `e2e/load_options.rs`.

pub mod server;
mod times;

use server::{Played, Server};

/// Options, and what has to hold of the log.
type Case = (&'static str, fn(&Played));

#[track_caller]
fn hold(cases: &[Case]) {
    let server = Server::start();
    for (options, holds) in cases {
        let played = server.play(options);
        // Shown if what has to hold does not.
        println!("{options}: {} requests", played.lines.len());
        holds(&played);
    }
}
