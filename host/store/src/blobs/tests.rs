use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::home::Home;
use crate::names::WorkspaceName;
use crate::testing;
use crate::workspace::Workspace;

type Damage = fn(&Path);

fn open(home: &Home) -> Blobs {
    let name = WorkspaceName::parse("default").unwrap();
    Workspace::open(home, &name, 0).unwrap().blobs()
}

async fn stored(blobs: &Blobs, bytes: &[u8]) -> BlobRow {
    let mut writer = blobs.create(Some("a.txt"), None).unwrap();
    writer.append(bytes).unwrap();
    writer.finish(5).await.unwrap()
}

fn incoming(blobs: &Blobs) -> usize {
    fs::read_dir(blobs.inner.directory.join("incoming")).unwrap().count()
}

#[tokio::test]
async fn a_blob_is_read_back_by_its_reference_and_range() {
    let (_directory, home) = testing::home();
    let blobs = open(&home);
    let mut writer = blobs.create(Some("a.txt"), Some("text/plain")).unwrap();
    writer.append(b"hello ").unwrap();
    writer.append(b"world").unwrap();
    let row = writer.finish(5).await.unwrap();
    assert_eq!(row.digest, Digest::of(b"hello world"));
    assert_eq!((row.size, row.created_ms), (11, 5));
    assert_eq!(incoming(&blobs), 0);
    let reader = blobs.open_reference(&row.reference()).unwrap().unwrap();
    assert_eq!(reader.row(), &row);
    let cases: [(u64, usize, &[u8]); 5] = [
        (0, 5, b"hello"),
        (6, 100, b"world"),
        (11, 1, b""),
        (u64::MAX, usize::MAX, b""),
        (0, usize::MAX, b"hello world"),
    ];
    for (offset, length, expected) in cases {
        assert_eq!(reader.read(offset, length).unwrap(), expected);
    }
    let mode = fs::metadata(blobs.inner.path(&row.digest)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn one_content_is_kept_once_under_the_name_given_last() {
    let (_directory, home) = testing::home();
    let blobs = open(&home);
    stored(&blobs, b"same").await;
    let mut writer = blobs.create(Some("b.txt"), Some("text/plain")).unwrap();
    writer.append(b"same").unwrap();
    let row = writer.finish(9).await.unwrap();
    assert_eq!(row.name.as_deref(), Some("b.txt"));
    assert_eq!(row.created_ms, 5);
    let mut writer = blobs.create(None, None).unwrap();
    writer.append(b"same").unwrap();
    assert_eq!(writer.finish(9).await.unwrap(), row);
    assert_eq!(blobs.total().unwrap(), BlobTotal { count: 1, bytes: 4 });
    assert!(blobs.remove(&row.digest).await.unwrap());
    assert!(!blobs.remove(&row.digest).await.unwrap());
    assert!(blobs.open(&row.digest).unwrap().is_none());
    assert!(!blobs.inner.path(&row.digest).exists());
    stored(&blobs, b"same").await;
    assert!(blobs.open(&row.digest).unwrap().is_some());
}

#[tokio::test]
async fn a_blob_over_its_limit_is_refused_and_what_fits_is_kept() {
    let (_directory, home) = testing::home();
    let blobs = open(&home);
    let mut writer = blobs.create_bounded(None, None, 4).unwrap();
    writer.append(b"abc").unwrap();
    let error = writer.append(b"de").unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { limit_bytes: 4, .. }), "{error}");
    writer.append(b"d").unwrap();
    assert_eq!(writer.finish(1).await.unwrap().digest, Digest::of(b"abcd"));
    let long = "n".repeat(100_000);
    let writer = blobs.create(Some(&long), Some(&long)).unwrap();
    let row = writer.finish(1).await.unwrap();
    assert_eq!((row.name.unwrap().len(), row.media_type.unwrap().len()), (255, 255));
    assert_eq!((row.digest, row.size), (Digest::of(b""), 0));
}

#[tokio::test]
async fn a_writer_that_is_dropped_or_was_interrupted_leaves_nothing() {
    let (_directory, home) = testing::home();
    let blobs = open(&home);
    let mut writer = blobs.create(None, None).unwrap();
    writer.append(b"abc").unwrap();
    drop(writer);
    assert_eq!(incoming(&blobs), 0);
    let leftover = blobs.inner.directory.join("incoming").join("7");
    fs::write(leftover, b"ab").unwrap();
    drop(blobs);
    assert_eq!(incoming(&open(&home)), 0);
}

#[tokio::test]
async fn a_file_that_was_changed_cut_or_removed_is_not_served() {
    let (_directory, home) = testing::home();
    let blobs = open(&home);
    let damages: [(&str, Damage); 3] = [
        ("bytes are others", |path| fs::write(path, b"abX").unwrap()),
        ("another size", |path| fs::write(path, b"ab").unwrap()),
        ("missing", |path| fs::remove_file(path).unwrap()),
    ];
    for (expected, damage) in damages {
        let row = stored(&blobs, b"abc").await;
        assert!(blobs.open(&row.digest).unwrap().is_some());
        // The very moment of the last change, in another inode.
        let path = blobs.inner.path(&row.digest);
        let copy = path.with_extension("copy");
        fs::copy(&path, &copy).unwrap();
        fs::rename(&copy, &path).unwrap();
        damage(&path);
        let error = blobs.open(&row.digest).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    // Storing the content again mends it.
    let row = stored(&blobs, b"abc").await;
    assert!(blobs.open(&row.digest).unwrap().is_some());
}

#[tokio::test]
async fn the_newest_are_listed_first_and_none_twice() {
    let (_directory, home) = testing::home();
    let blobs = open(&home);
    for number in 0..5_u8 {
        let mut writer = blobs.create(None, None).unwrap();
        writer.append(&[number]).unwrap();
        // Two of them at the same moment.
        writer.finish(i64::from(number / 2)).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = blobs.list(after, 2).unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.created_ms, last.digest));
        seen.extend(page);
    }
    let times: Vec<i64> = seen.iter().map(|row| row.created_ms).collect();
    assert_eq!(times, [2, 1, 1, 0, 0]);
    assert!(seen[1].digest < seen[2].digest && seen[3].digest < seen[4].digest);
}

#[test]
fn only_a_reference_is_one() {
    let digest = Digest::of(b"abc");
    assert_eq!(parse_blob_reference(&blob_reference(&digest)), Ok(digest));
    let plain = digest.to_string();
    let doubled = format!("blob:{plain}");
    for text in ["", "blob:", "blob:../../token", &plain, &doubled, &digest.hex()] {
        assert_eq!(parse_blob_reference(text), Err(DigestError), "{text}");
    }
}
