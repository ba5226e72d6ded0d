//! An attacker on sealed packets, epochs that follow each other, and numbers near their limits.

use weir_protect::{Lane, OpenError, Opener, Protection, SealError, Sealed, Sealer, Secret, StreamSecrets};

fn secrets(protection: Protection, packets_per_epoch: u64) -> StreamSecrets {
    let [sending, receiving] = [[1; 32], [2; 32]].map(Secret::new);
    StreamSecrets {
        packets_per_epoch,
        ..StreamSecrets::new(protection, sending, receiving)
    }
}

fn ends(protection: Protection, packets_per_epoch: u64) -> (Sealer, Opener) {
    let secrets = secrets(protection, packets_per_epoch);
    (Sealer::new(&secrets), Opener::new(&secrets.of_other_end()))
}

const PROTECTED: [Protection; 4] = [
    Protection::Auth,
    Protection::Aes128Gcm,
    Protection::Aes256Gcm,
    Protection::ChaCha20Poly1305,
];
const AAD: &[u8] = b"header of the packet";
const PLAIN: [u8; 40] = [0x5a; 40];

fn seal(sealer: &mut Sealer, number: u64) -> (Sealed, [u8; 40]) {
    let mut text = PLAIN;
    let sealed = sealer.seal(Lane::Source, number, AAD, &mut text).unwrap();
    (sealed, text)
}

fn open(opener: &mut Opener, number: u64, sealed: Sealed, text: [u8; 40]) -> Result<[u8; 40], OpenError> {
    let mut text = text;
    opener.open(sealed.epoch, (Lane::Source, number), AAD, sealed.tag, &mut text)?;
    Ok(text)
}

#[test]
fn every_changed_bit_and_every_other_place_is_refused() {
    for protection in PROTECTED {
        let (mut sealer, mut opener) = ends(protection, 100);
        let (sealed, text) = seal(&mut sealer, 7);
        assert_eq!(text != PLAIN, protection.encrypts());
        for bit in 0..text.len() * 8 {
            let mut changed = text;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(
                open(&mut opener, 7, sealed, changed).is_err(),
                "{protection} {bit}"
            );
        }
        for bit in 0..128 {
            let mut changed = sealed;
            changed.tag[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&mut opener, 7, changed, text).is_err(), "{protection} {bit}");
        }
        for bit in 0..64 {
            assert!(
                open(&mut opener, 7 ^ 1 << bit, sealed, text).is_err(),
                "{protection} {bit}"
            );
        }
        for epoch in 1..=255 {
            let other = Sealed { epoch, ..sealed };
            assert!(open(&mut opener, 7, other, text).is_err(), "{protection} {epoch}");
        }
        for lane in [Lane::Repair, Lane::Feedback] {
            let mut moved = text;
            assert_eq!(
                opener.open(sealed.epoch, (lane, 7), AAD, sealed.tag, &mut moved),
                Err(OpenError::Unauthentic)
            );
        }
        let mut short = text;
        let cut = opener.open(sealed.epoch, (Lane::Source, 7), AAD, sealed.tag, &mut short[..39]);
        assert_eq!(cut, Err(OpenError::Unauthentic));
        let mut other = text;
        let aad = opener.open(
            sealed.epoch,
            (Lane::Source, 7),
            b"another",
            sealed.tag,
            &mut other,
        );
        assert_eq!(
            aad.is_err(),
            protection.encrypts(),
            "headers have a tag of their own"
        );
        assert_eq!(opener.renewals(), 0, "an attacker renews no key");
        assert_eq!(open(&mut opener, 7, sealed, text), Ok(PLAIN));
    }
}

#[test]
fn packets_of_another_session_or_direction_do_not_open() {
    for protection in PROTECTED {
        let ours = secrets(protection, 100);
        let mut sealer = Sealer::new(&ours);
        let (sealed, text) = seal(&mut sealer, 0);
        let mut theirs = ours.of_other_end();
        theirs.receiving = Secret::new([3; 32]);
        for other in [&ours, &theirs] {
            let result = open(&mut Opener::new(other), 0, sealed, text);
            assert_eq!(result, Err(OpenError::Unauthentic), "{protection}");
        }
    }
}

#[test]
fn no_number_is_sealed_twice() {
    let (mut sealer, _) = ends(Protection::Aes128Gcm, 100);
    seal(&mut sealer, 7);
    let mut text = PLAIN;
    for number in [7, 6, 0, u64::MAX] {
        assert_eq!(
            sealer.seal(Lane::Source, number, AAD, &mut text),
            Err(SealError::NumberReused(number))
        );
        assert_eq!(text, PLAIN, "nothing was encrypted");
    }
    assert!(
        sealer.seal(Lane::Repair, 7, AAD, &mut text).is_ok(),
        "lanes count apart"
    );
    assert!(sealer.seal(Lane::Source, u64::MAX - 1, AAD, &mut text).is_ok());
    assert!(sealer.seal(Lane::Source, u64::MAX - 1, AAD, &mut text).is_err());
}

#[test]
fn nonces_of_lanes_and_epochs_give_different_ciphertexts() {
    let (mut sealer, _) = ends(Protection::Aes128Gcm, 1);
    let mut seen = std::collections::HashSet::new();
    for number in 0..600 {
        for lane in [Lane::Source, Lane::Repair, Lane::Feedback] {
            let mut text = PLAIN;
            sealer.seal(lane, number, AAD, &mut text).unwrap();
            assert!(seen.insert(text), "{lane:?} {number}");
        }
    }
    assert_eq!(sealer.renewals(), 1_799);
}

#[test]
fn keys_are_renewed_without_a_gap_and_without_a_message() {
    for protection in PROTECTED {
        let (mut sealer, mut opener) = ends(protection, 10);
        let packets: Vec<_> = (0..6_000)
            .map(|number| (number, seal(&mut sealer, number)))
            .collect();
        // Epoch 599 has other low 8 bits than epoch 87.
        assert_eq!(sealer.renewals(), 599);
        // Each is overtaken by the 25 after it: packets of three epochs are mixed.
        for first in (0..6_000).step_by(25) {
            for &(number, (sealed, text)) in packets[first..first + 25].iter().rev() {
                assert_eq!(
                    open(&mut opener, number, sealed, text),
                    Ok(PLAIN),
                    "{protection} {number}"
                );
            }
        }
        assert_eq!(opener.renewals(), 599);
        let (number, (sealed, text)) = packets[0];
        assert!(
            open(&mut opener, number, sealed, text).is_err(),
            "its key is gone"
        );
    }
}

#[test]
fn a_path_that_is_dark_for_four_epochs_goes_on() {
    let (mut sealer, mut opener) = ends(Protection::Aes128Gcm, 10);
    let packets: Vec<_> = (0..100).map(|number| seal(&mut sealer, number)).collect();
    let (sealed, text) = packets[0];
    assert_eq!(open(&mut opener, 0, sealed, text), Ok(PLAIN));
    let (sealed, text) = packets[50];
    assert_eq!(open(&mut opener, 50, sealed, text), Err(OpenError::Epoch(5)));
    let (sealed, text) = packets[49];
    assert_eq!(open(&mut opener, 49, sealed, text), Ok(PLAIN));
    assert_eq!(opener.renewals(), 4);
    let (sealed, text) = packets[50];
    assert_eq!(open(&mut opener, 50, sealed, text), Ok(PLAIN));
}

#[test]
fn header_keys_follow_the_epochs_and_former_ones_are_kept() {
    let (mut sealer, mut opener) = ends(Protection::Aes128Gcm, 10);
    for number in 0..60 {
        let (sealed, text) = seal(&mut sealer, number);
        let tags = [sealer.header_key(sealed.epoch), opener.header_key(sealed.epoch)];
        let [sent, came] = tags.map(|key| key.unwrap().tag(b"header"));
        assert_eq!(sent, came);
        open(&mut opener, number, sealed, text).unwrap();
    }
    let known = |epoch| {
        (
            sealer.header_key(epoch).is_some(),
            opener.header_key(epoch).is_some(),
        )
    };
    assert_eq!(
        [1, 2, 5, 6, 9, 10].map(known),
        [
            (false, false),
            (true, true),
            (true, true),
            (false, true),
            (false, true),
            (false, false)
        ]
    );
    let different: std::collections::HashSet<u64> = (2..=5)
        .map(|epoch| sealer.header_key(epoch).unwrap().tag(b"header"))
        .collect();
    assert_eq!(different.len(), 4);
}

#[test]
fn without_protection_nothing_changes_and_no_key_is_renewed() {
    let (mut sealer, mut opener) = ends(Protection::Off, 10);
    for number in 0..100 {
        let (sealed, text) = seal(&mut sealer, number);
        assert_eq!((sealed.epoch, sealed.tag, text), (0, [0; 16], PLAIN));
        assert_eq!(open(&mut opener, number, sealed, text), Ok(PLAIN));
    }
    assert!(opener.header_key(1).is_none());
}
