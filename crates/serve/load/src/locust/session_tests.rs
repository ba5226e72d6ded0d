use std::net::TcpListener;

use super::*;

/// A fleet of which one class cannot be run.
struct Half;

impl Fleet for Half {
    fn set(&mut self, spawn: &Spawn) -> Settled {
        let dash = |class: &String| class == "WeirDash";
        Settled {
            users: spawn
                .users
                .iter()
                .map(|(class, count)| (class.clone(), if dash(class) { *count } else { 0 }))
                .collect(),
            problems: vec!["cannot run 2 users of WeirHls: no URL to load".to_owned()],
        }
    }

    fn stop(&mut self) {}

    fn take(&mut self) -> Account {
        Account::default()
    }
}

/// Kind and data of all that a session has sent, once it has ended.
fn told(mut master: TcpStream) -> Vec<(String, Value)> {
    let mut bytes = Vec::new();
    master.read_to_end(&mut bytes).unwrap();
    let mut reader = FrameReader::default();
    reader.push(&bytes);
    let mut all = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        if let Frame::Message { body, .. } = frame {
            let message = rmpv::decode::read_value(&mut body.as_slice()).unwrap();
            let parts = message.as_array().unwrap();
            all.push((parts[0].as_str().unwrap().to_owned(), parts[1].clone()));
        }
    }
    all
}

#[test]
fn users_that_do_not_run_are_not_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (master, _) = listener.accept().unwrap();
    let mut session = Session {
        stream,
        reader: FrameReader::default(),
        node: "worker".to_owned(),
        state: "ready",
        users: BTreeMap::new(),
        last_spawn: 0.0,
        heard: Instant::now(),
        cpu: (Instant::now(), 0),
    };
    let users = [("WeirDash".to_owned(), 3), ("WeirHls".to_owned(), 2)];
    let spawn = Spawn {
        timestamp: 1.0,
        users: users.into(),
        host: None,
        options: BTreeMap::new(),
    };
    let said = std::cell::RefCell::new(Vec::new());
    let say = |line: &str| said.borrow_mut().push(line.to_owned());
    let end = session.follow(FromMaster::Spawn(spawn), &mut Half, &say).unwrap();
    assert!(end.is_none());
    session.report(&mut Half).unwrap();
    drop(session);
    assert_eq!(said.into_inner().len(), 1);
    let all = told(master);
    let kinds: Vec<&str> = all.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["spawning", "exception", "spawning_complete", "stats"]);
    assert!(
        all[1].1["msg"].as_str().unwrap().contains("2 users of WeirHls"),
        "{}",
        all[1].1
    );
    for (kind, data) in &all[2..] {
        assert_eq!(data["user_count"].as_u64(), Some(3), "{kind}: {data}");
        assert_eq!(data["user_classes_count"]["WeirHls"].as_u64(), Some(0), "{kind}");
    }
}
