//! Reads of files in a folder: what lies below it and nothing else, of one version, and what cannot be opened.

use std::fs;

use tempfile::TempDir;
use weir_origin::{Kind, StorageError};

use super::{known, path, patient, read_a, run, storage, whole};
use crate::misbehaving::object;

#[test]
fn files_below_the_folder_are_read_and_nothing_else() {
    let folder = TempDir::new().expect("a folder");
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("films")).expect("folders");
    let bytes = object(300_000);
    fs::write(root.join("films/a b.mp4"), &bytes).expect("a file");
    fs::write(folder.path().join("secret"), "secret").expect("a file");
    std::os::unix::fs::symlink("films/a b.mp4", root.join("inside")).expect("a link");
    std::os::unix::fs::symlink("../secret", root.join("outside")).expect("a link");
    std::os::unix::fs::symlink("..", root.join("up")).expect("a link");
    std::os::unix::fs::symlink("loop", root.join("loop")).expect("a link");
    let made = std::process::Command::new("mkfifo")
        .arg(root.join("pipe"))
        .status()
        .expect("mkfifo");
    assert!(made.success());
    let (storage, _) = storage(&[root.to_str().expect("a name")], true, patient());
    run(async {
        let meta = known(&storage, "films/a b.mp4").await;
        assert_eq!(meta.length, 300_000);
        assert!(
            whole(&storage, 1000..299_000, Some(&meta))
                .await
                .expect("a range")
                == bytes[1000..299_000]
        );
        assert!(whole(&storage, 299_000..400_000, None).await.expect("the end") == bytes[299_000..]);
        let beyond = whole(&storage, 300_000..300_001, Some(&meta))
            .await
            .expect_err("beyond the end");
        assert_eq!(beyond.cause(), "storage_changed");
        assert_eq!(
            storage.head(Kind::Index, &path("inside")).await.expect("a link"),
            meta
        );
        for name in [
            "outside",
            "up/secret",
            "up",
            "films",
            "pipe",
            "nowhere",
            "films/a b.mp4/more",
            "secret",
        ] {
            let error = storage.head(Kind::Index, &path(name)).await.expect_err(name);
            assert!(matches!(error, StorageError::NotFound { .. }), "{name}: {error}");
            let error = storage
                .read(Kind::Media, &path(name), 0..1, None)
                .await
                .expect_err(name);
            assert!(matches!(error, StorageError::NotFound { .. }), "{name}: {error}");
        }
        let error = storage
            .head(Kind::Index, &path("loop"))
            .await
            .expect_err("a loop");
        assert_eq!(error.cause(), "storage_file");
    });
}

#[test]
fn a_file_that_is_replaced_is_read_as_it_was_and_one_that_is_written_over_is_not_read() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("a");
    let bytes = object(4 << 20);
    let (storage, _) = storage(&[folder.path().to_str().expect("a name")], true, patient());
    run(async {
        fs::write(&file, &bytes).expect("a file");
        let meta = known(&storage, "a").await;
        let mut reading = read_a(&storage, 0..4 << 20, Some(&meta)).await;
        let mut got = reading.next().await.expect("bytes").expect("no error").to_vec();
        fs::write(folder.path().join("new"), vec![0; 4 << 20]).expect("a file");
        fs::rename(folder.path().join("new"), &file).expect("a name");
        while let Some(piece) = reading.next().await {
            got.extend_from_slice(&piece.expect("no error"));
        }
        assert!(got == bytes);
        let error = storage
            .read(Kind::Media, &path("a"), 0..10, Some(&meta))
            .await
            .expect_err("another file");
        assert!(matches!(error, StorageError::Changed { .. }), "{error}");

        let mut reading = read_a(&storage, 0..4 << 20, None).await;
        reading.next().await.expect("bytes").expect("no error");
        fs::write(&file, &bytes).expect("the same file");
        let error = loop {
            match reading.next().await.expect("an error before the end") {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(error, StorageError::Changed { .. }), "{error}");
    });
}
