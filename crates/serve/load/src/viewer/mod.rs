//! A viewer: it chooses a title, fetches what its way of playing asks for, accounts for every request, thinks, and
//! begins again. It knows HTTP by [`crate::client`] and media by [`crate::manifest`]; when it comes and goes is not its
//! business.

mod fetching;
mod looping;
mod real_time;
mod state;
mod titles;
mod watching;

use std::rc::Rc;

use crate::client::Client;
use crate::clock::monotonic_ns;
use crate::schedule::Random;
pub use real_time::RealTime;
use state::Viewer;
pub use state::{Behaviour, Leaving, Play, RungChoice, Shared};

/// Plays until asked to leave, or until its one session has ended. Its scheduled arrival is `intended_ns`.
pub async fn view(shared: Rc<Shared>, leaving: Rc<Leaving>, number: u64, intended_ns: u64) {
    let behaviour = shared.behaviour.clone();
    let mut viewer = Viewer {
        number,
        client: Client::new(shared.dialer.clone()),
        random: Random::new(behaviour.seed, number),
        shared,
        leaving,
        intended_ns: Some(intended_ns),
        failures: 0,
    };
    while !viewer.leaving.is_told() {
        let title = behaviour.popularity.choose(&mut viewer.random);
        let Some(title) = behaviour.titles.get(title) else {
            return;
        };
        let done = match behaviour.play {
            Play::RealTime => viewer.watch(title).await,
            Play::Loop | Play::Random | Play::Manifest => viewer.go_round(title).await,
        };
        if behaviour.one_session {
            return;
        }
        let mut pause = viewer.random.between(behaviour.think);
        if done.is_err() {
            pause = pause.max(viewer.pause());
        }
        let again = monotonic_ns() + pause.as_nanos() as u64;
        // Real viewers do not keep connections while they think.
        if !pause.is_zero() {
            viewer.client.close();
        }
        viewer.leaving.sleep_until(again).await;
    }
}
