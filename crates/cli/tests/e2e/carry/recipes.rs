//! `docs/recipes.md`: every command block on the page is run as it stands there, but for sizes, times, devices that a
//! test has not got, and names of hosts; and what came out is what went in.

use weir_rig::carry::{
    all_whole, as_y4m, noise_frames, read_file, same_bytes, same_files, shell, write_file,
};
use weir_rig::{
    FAR_IPV4, Host, LIMIT, NEAR_IPV4, Running, isolated, join_by_veth, run_within, see_own_processes,
    wait_until,
};

const PAGE: &str = include_str!("../../../../../docs/recipes.md");

/// What stands on the page, and what is run instead.
const INSTEAD: [(&str, &str); 14] = [
    ("sender.example.net", "127.0.0.1"),
    ("relay.example.net", "127.0.0.1"),
    ("a.example.net", NEAR_IPV4),
    ("b.example.net", FAR_IPV4),
    ("1920x1080", "160x120"),
    ("width=1920", "width=160"),
    ("height=1080", "height=120"),
    ("-t 60", "-t 1"),
    ("--for 10s", "--for 2s"),
    ("num-buffers=3000", "num-buffers=50"),
    (
        "-f v4l2 -video_size 160x120 -framerate 50 -i /dev/video0",
        "-f lavfi -i testsrc2=size=160x120:rate=50:duration=1",
    ),
    ("autovideosink", "filesink location=out.raw"),
    ("--rate 5Gbit/s", "--rate 500Mbit/s --max-lateness 10s"),
    ("--latency 60ms --verify", "--latency 300ms --verify --json"),
];

/// A recipe: where each of its blocks runs, and the block.
struct Recipe {
    title: &'static str,
    blocks: Vec<(&'static str, String)>,
}

fn recipes() -> Vec<Recipe> {
    PAGE.split("\n## ")
        .skip(1)
        .map(|section| {
            let (title, text) = section.split_once('\n').expect("a heading");
            let blocks = text.split("```sh\n").skip(1).map(|rest| {
                let block = rest.split("```").next().expect("a block");
                let (place, commands) = block.split_once('\n').expect("commands");
                let place = place.strip_prefix("# on ").expect("where it runs");
                let place = place.strip_prefix("the ").unwrap_or(place);
                (place, as_tested(commands))
            });
            Recipe {
                title,
                blocks: blocks.collect(),
            }
        })
        .collect()
}

fn as_tested(commands: &str) -> String {
    let mut commands = commands.to_owned();
    for (documented, tested) in INSTEAD {
        commands = commands.replace(documented, tested);
    }
    // A busy machine needs more than the default.
    if !commands.contains("--latency") {
        commands = commands.replace("weir recv", "weir recv --latency 1s");
    }
    commands
}

/// Runs a recipe's blocks at the same time, each in a folder of its name with what it needs; all have to end well.
fn cook(title: &str) {
    let all = recipes();
    let recipe = all
        .iter()
        .find(|recipe| recipe.title == title)
        .unwrap_or_else(|| panic!("no recipe '{title}' on the page"));
    let running: Vec<(&str, Running)> = recipe
        .blocks
        .iter()
        .map(|(place, commands)| {
            let host = if *place == "sender B" {
                Host::Far
            } else {
                Host::Near
            };
            std::fs::create_dir_all(place).expect("a folder");
            std::fs::write(
                format!("{place}/weir.token"),
                "9f86d081884c7d659a2feaa0c55ad015\n",
            )
            .expect("a token");
            for input in ["in.mkv", "in.y4m"] {
                if commands.contains(input) {
                    std::fs::copy(input, format!("{place}/{input}")).expect("an input");
                }
            }
            let mut command = host.command(shell(&format!("cd '{place}'\n{commands}")));
            // A player needs no screen for this.
            command
                .env("SDL_VIDEODRIVER", "dummy")
                .env("SDL_AUDIODRIVER", "dummy");
            let program = Running::start(command);
            // Of several senders of a stream, none may come when the receiver has had all of another's.
            if place.starts_with("sender ") {
                wait_until("a sender to wait for receivers", LIMIT, || {
                    program.stderr().contains("waiting for a receiver").then_some(())
                });
            }
            (*place, program)
        })
        .collect();
    assert!(!running.is_empty(), "'{title}' has no commands");
    for (place, program) in running {
        let done = program.wait(LIMIT);
        assert_eq!(
            done.code(),
            0,
            "'{title}' on {place} said:\n{}\n{}",
            done.stdout,
            done.stderr
        );
        std::fs::write(format!("{place}/stdout"), done.stdout).expect("a file");
    }
}

/// One second of moving video, without loss.
fn make_input() {
    let made = run_within(
        LIMIT,
        shell(
            "ffmpeg -loglevel error -f lavfi -i testsrc2=size=160x120:rate=50:duration=1 \
             -pix_fmt yuv422p10le -c:v ffv1 in.mkv",
        ),
    );
    made.expect_code(0);
}

/// MD5 of each frame of a file, in these samples.
fn frame_sums(file: &str, samples: &str) -> Vec<String> {
    let script = format!("ffmpeg -loglevel error -i '{file}' -pix_fmt {samples} -f framemd5 -");
    let said = run_within(LIMIT, shell(&script)).expect_code(0).stdout;
    sums(&said)
}

/// The last column of each line that is no comment.
fn sums(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit(',').next().expect("a sum").trim().to_owned())
        .collect()
}

#[track_caller]
fn same_frames(samples: &str) {
    let sent = frame_sums("in.mkv", samples);
    assert_eq!(sent.len(), 50);
    assert_eq!(frame_sums("receiver/out.mkv", samples), sent);
}

/// Every recipe on the page is cooked below.
#[track_caller]
fn none_is_left_out() {
    let titles: Vec<&str> = recipes().iter().map(|recipe| recipe.title).collect();
    let tests = include_str!("recipes.rs");
    for title in &titles {
        assert_eq!(tests.matches(&format!("\"{title}\"")).count(), 1, "{title}");
    }
    assert_eq!(titles.len(), 12);
    // Nor is there a command that is in no recipe.
    assert_eq!(
        PAGE.matches("```").count(),
        2 * PAGE.matches("\n```sh\n# on ").count()
    );
}

#[test]
fn every_recipe_on_the_page_delivers_the_frames_that_went_in() {
    isolated!();
    none_is_left_out();
    ffmpeg_in_front_and_behind();
    forget();
    gstreamer_in_front_and_behind();
    forget();
    a_relay_two_senders_and_an_emulated_link();
}

/// What recipes have left goes.
fn forget() {
    for place in ["sender", "receiver"] {
        std::fs::remove_dir_all(place).expect("what was cooked");
    }
}

fn ffmpeg_in_front_and_behind() {
    make_input();
    for title in [
        "Raw frames from ffmpeg to ffmpeg",
        "Y4M, which tells its format",
        "Frames that ffmpeg has packed already",
    ] {
        cook(title);
        same_frames("yuv422p10le");
        std::fs::remove_dir_all("receiver").expect("an output");
    }
    cook("16-bit RGBA");
    same_frames("rgba64le");
    std::fs::remove_dir_all("receiver").expect("an output");
    cook("Proof that every frame is the same");
    let text = |file: &str| String::from_utf8(read_file(file)).expect("text");
    let sent = sums(&text("sender/sent.md5"));
    assert_eq!(sent.len(), 50);
    assert_eq!(sums(&text("receiver/received.md5")), sent);
    cook("From a camera or a capture card to a player");
    write_file("in.y4m", &as_y4m(&noise_frames(50, 61)));
    cook("Record");
    same_files("in.y4m", "receiver/out.y4m");
    assert!(text("receiver/stdout").contains("50 of 50 compared frames match the sender's hash"));
}

fn gstreamer_in_front_and_behind() {
    let made = |samples: &str, rest: &str| {
        let script = format!(
            "gst-launch-1.0 -q videotestsrc pattern=ball num-buffers=50 ! \
             video/x-raw,format={samples},width=160,height=120,framerate=50/1 ! {rest}"
        );
        run_within(LIMIT, shell(&script)).expect_code(0);
    };
    made("I422_10LE", "filesink location=in.raw");
    cook("From GStreamer to GStreamer");
    same_files("in.raw", "receiver/out.raw");
    made("I420", "filesink location=in.raw");
    cook("Y4M from GStreamer");
    let y4m = read_file("receiver/out.y4m");
    let header = y4m.iter().position(|byte| *byte == b'\n').expect("a header") + 1;
    let frames: Vec<u8> = y4m[header..]
        .chunks(6 + 160 * 120 * 3 / 2)
        .flat_map(|frame| frame[6..].to_vec())
        .collect();
    same_bytes(&read_file("in.raw"), &frames);
}

fn a_relay_two_senders_and_an_emulated_link() {
    join_by_veth(9000);
    write_file("in.y4m", &as_y4m(&noise_frames(75, 62)));
    cook("On through a FIFO to a third host");
    same_files("in.y4m", "receiver/out.y4m");
    std::fs::remove_dir_all("receiver").expect("an output");
    cook("Two senders of the same stream");
    same_files("in.y4m", "receiver/out.y4m");
    let events = String::from_utf8(read_file("receiver/events.jsonl")).expect("text");
    // One object after the other, without anything between.
    let events = serde_json::Deserializer::from_str(&events).into_iter::<serde_json::Value>();
    let events: Vec<String> = events
        .map(|event| event.expect("JSON")["event"].as_str().expect("a kind").to_owned())
        .collect();
    assert_eq!(events, ["connected", "connected", "ended", "ended"]);

    see_own_processes();
    cook("On an emulated link");
    let said = String::from_utf8(read_file("any host/stdout")).expect("text");
    let received: serde_json::Value = said
        .lines()
        .next()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .expect("a result");
    all_whole(&received, 100);
    assert_eq!(received["frames_verified"], 100, "{received}");
}
