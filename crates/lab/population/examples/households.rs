//! Plays households of a population file and prints what they took: `households FILE COUNT THREADS`.

use std::time::Instant;

use weir_population::{Plan, Population, Shard, play_all};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, households, threads] = arguments.as_slice() else {
        eprintln!("households FILE COUNT THREADS");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(file).expect("a file");
    let population = Population::parse(&text, file).unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan {
        households: households.parse().expect("a number"),
        seed: 1,
        shard: Shard::default(),
        done: 0,
        threads: threads.parse().expect("a number"),
        unix_ns: 0,
    };
    let began = Instant::now();
    let (mut packets, mut length_ns, mut sessions) = (0, 0, 0u64);
    play_all(&population, &plan, &|| false, |variants| {
        for played in variants {
            packets += played.session.packets;
            length_ns += played.session.length_ns;
            sessions += 1;
            if std::env::var_os("SHOW").is_some() {
                println!("{:?}", played.session);
                for neighbour in &played.neighbours {
                    println!("    {neighbour:?}");
                }
            }
        }
    })
    .unwrap_or_else(|error| panic!("{error}"));
    let took = began.elapsed().as_secs_f64();
    println!(
        "{sessions} sessions of {:.0} s, {:.2} million packets of media, in {took:.2} s",
        length_ns as f64 / 1e9 / sessions as f64,
        packets as f64 / 1e6,
    );
}
