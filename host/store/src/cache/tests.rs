use super::*;

fn directory() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sled");
    (directory, path)
}

fn number(cache: &Cache) -> u64 {
    cache.current().unwrap().number
}

#[test]
fn entries_are_kept_by_tree_and_across_openings() {
    let (_directory, path) = directory();
    let cache = Cache::open(&path);
    assert_eq!(cache.get("a", b"key"), None);
    assert!(cache.put("a", b"key", b"one"));
    assert!(cache.put("b", b"key", b"two"));
    drop(cache);
    let cache = Cache::open(&path);
    assert_eq!(cache.get("a", b"key").unwrap(), b"one");
    assert_eq!(cache.get("b", b"key").unwrap(), b"two");
    cache.remove("b", b"key");
    assert_eq!(cache.get("b", b"key"), None);
    cache.remove_tree("a");
    cache.remove_tree("a");
    assert_eq!(cache.get("a", b"key"), None);
    assert_eq!(number(&cache), 0);
}

#[test]
fn a_swap_takes_place_only_for_what_is_expected() {
    let (_directory, path) = directory();
    let cache = Cache::open(&path);
    assert!(!cache.swap("a", b"key", Some(b"one"), Some(b"two")));
    assert!(cache.swap("a", b"key", None, Some(b"one")));
    assert!(!cache.swap("a", b"key", None, Some(b"two")));
    assert!(cache.swap("a", b"key", Some(b"one"), Some(b"two")));
    assert_eq!(cache.get("a", b"key").unwrap(), b"two");
    assert!(cache.swap("a", b"key", Some(b"two"), None));
    assert_eq!(cache.get("a", b"key"), None);
}

#[test]
fn of_many_who_swap_at_once_one_succeeds() {
    let (_directory, path) = directory();
    let cache = Cache::open(&path);
    let wins = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for number in 0..8_u8 {
            let (cache, wins) = (cache.clone(), &wins);
            scope.spawn(move || {
                if cache.swap("a", b"key", None, Some(&[number])) {
                    wins.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(wins.into_inner(), 1);
}

#[test]
fn an_entry_that_is_too_large_is_not_kept_and_hides_no_older_one() {
    let (_directory, path) = directory();
    let cache = Cache::open(&path);
    let largest = vec![7; CACHE_ENTRY_LIMIT_BYTES - 3];
    assert!(cache.put("a", b"key", &largest));
    assert_eq!(cache.get("a", b"key").unwrap(), largest);
    let larger = vec![7; CACHE_ENTRY_LIMIT_BYTES - 2];
    assert!(!cache.put("a", b"key", &larger));
    assert_eq!(cache.get("a", b"key"), None);
    assert!(!cache.swap("a", b"key", None, Some(&larger)));
    assert_eq!(cache.get("a", b"key"), None);
    assert_eq!(number(&cache), 0);
}

#[test]
fn long_keys_and_values_are_as_good_as_short_ones() {
    let (_directory, path) = directory();
    let cache = Cache::open(&path);
    let lengths = [0, 1, 511, 512, 513, 4095, 4096, 4097, 300_000];
    let entry = |length: usize| (vec![1; length], vec![2; length]);
    for (key, value) in lengths.map(entry) {
        assert!(cache.swap("a", &key, None, Some(&value)));
        assert!(!cache.swap("a", &key, None, Some(&value)));
    }
    drop(cache);
    let cache = Cache::open(&path);
    for (key, value) in lengths.map(entry) {
        assert_eq!(cache.get("a", &key).unwrap(), value);
        let other = vec![3; value.len() + 1];
        assert!(!cache.swap("a", &key, Some(&other), None));
        assert!(cache.swap("a", &key, Some(&value), Some(&other)));
        assert_eq!(cache.get("a", &key).unwrap(), other);
    }
}

#[test]
fn a_long_value_whose_file_is_damaged_is_forgotten() {
    let (_directory, path) = directory();
    let cache = Cache::open(&path);
    let long = vec![7; 5000];
    assert!(cache.put("a", b"key", &long));
    let directory = path.join("0/long");
    let file = fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, &long[1..]).unwrap();
    assert_eq!(cache.get("a", b"key"), None);
    fs::remove_file(&file).unwrap();
    assert_eq!(cache.get("a", b"key"), None);
    assert!(cache.put("a", b"key", &long));
    assert_eq!(cache.get("a", b"key").unwrap(), long);
}

#[test]
fn a_directory_that_is_deleted_while_open_costs_entries_alone() {
    let (directory, path) = directory();
    let cache = Cache::open(&path);
    for round in 0..3_u8 {
        let large = vec![round; CACHE_ENTRY_LIMIT_BYTES - 100];
        assert!(cache.put("a", b"large", &large));
        assert!(cache.put("a", b"key", &[round]));
        fs::remove_dir_all(&path).unwrap();
        let _ = cache.get("a", b"large");
        assert!(cache.put("a", b"key", &[round, round]));
        assert_eq!(cache.get("a", b"key").unwrap(), [round, round]);
        assert!(cache.put("a", b"large", &large));
        assert_eq!(cache.get("a", b"large").unwrap(), large);
        assert!(cache.swap("b", &[round], None, Some(b"new")));
    }
    drop(cache);
    let cache = Cache::open(&path);
    assert_eq!(cache.get("a", b"key").unwrap(), [2, 2]);
    drop(cache);
    drop(directory);
}

#[test]
fn a_directory_that_is_deleted_under_many_writers_never_fails_them() {
    let (_directory, path) = directory();
    let cache = Cache::open(&path);
    std::thread::scope(|scope| {
        for writer in 0..4_u64 {
            let cache = cache.clone();
            scope.spawn(move || {
                for turn in 0..500_u64 {
                    let key = (writer * 1000 + turn).to_be_bytes();
                    cache.put("a", &key, &vec![7; 100 * turn as usize]);
                    cache.get("a", &key);
                }
            });
        }
        for _ in 0..5 {
            let _ = fs::remove_dir_all(&path);
            std::thread::yield_now();
        }
    });
    assert!(cache.put("a", b"key", b"one"));
    assert_eq!(cache.get("a", b"key").unwrap(), b"one");
}

#[test]
fn a_damaged_cache_is_removed_at_open() {
    let damages: [fn(&Path); 4] = [
        |path| fs::write(path.join("0/conf"), b"nonsense").unwrap(),
        |path| {
            let file = fs::OpenOptions::new().write(true).open(path.join("0/db")).unwrap();
            file.set_len(700).unwrap();
        },
        |path| fs::write(path.join("0/db"), vec![0xa5; 600_000]).unwrap(),
        |path| {
            fs::remove_dir_all(path.join("0")).unwrap();
            fs::write(path.join("0"), b"a file").unwrap();
        },
    ];
    for damage in damages {
        let (_directory, path) = directory();
        let cache = Cache::open(&path);
        for key in 0..500_u32 {
            cache.put("a", &key.to_be_bytes(), &[7; 500]);
        }
        drop(cache);
        damage(&path);
        let cache = Cache::open(&path);
        assert!(cache.put("a", b"key", b"one"));
        assert_eq!(cache.get("a", b"key").unwrap(), b"one");
    }
}

#[test]
fn a_cache_without_a_place_forgets_and_recovers() {
    let (_directory, path) = directory();
    fs::write(&path, b"a file").unwrap();
    let cache = Cache::open(&path);
    assert!(!cache.put("a", b"key", b"one"));
    assert_eq!(cache.get("a", b"key"), None);
    assert!(!cache.swap("a", b"key", None, Some(b"one")));
    fs::remove_file(&path).unwrap();
    assert!(cache.put("a", b"key", b"one"));
    assert_eq!(cache.get("a", b"key").unwrap(), b"one");
}

#[test]
fn a_cache_that_grows_too_large_is_begun_anew() {
    let (_directory, path) = directory();
    let cache = Cache::open_bounded(&path, 100_000);
    for key in 0..2 * WRITES_BETWEEN_LOOKS {
        cache.put("a", &key.to_be_bytes(), &[7; 200]);
    }
    let first = number(&cache);
    assert!(first >= 1);
    for key in 0..20_u8 {
        cache.put("a", b"key", &[key; 10_000]);
    }
    assert!(number(&cache) > first);
    assert!(cache.put("a", b"key", b"one"));
    assert_eq!(cache.get("a", b"key").unwrap(), b"one");
    assert_eq!(generations(&path), [number(&cache)]);
}
