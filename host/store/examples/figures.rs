//! Prints what the store reaches on this machine, beside what the disk gives:
//! `cargo run --release -p executor-store --example figures`.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use executor_store::{
    Change, Digest, ExecutionId, ExecutionRow, Executions, Home, Installation, Keyring, SourceName,
    SourceRow, Staged, ToolRow, Workspace, WorkspaceName,
};

const THREADS: u64 = 32;
const PUTS: u64 = 320_000;
const BURST: u64 = 9_600;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir_in(std::env::current_dir()?)?;
    let before = resident_kib();
    let home = Home::open(&directory.path().join("home"))?;
    let installation = Installation::open(&home, &Keyring::default(), 1)?;
    let workspace = Workspace::open(&home, &WorkspaceName::parse("default")?, 1)?;
    let cache = executor_store::Cache::open(&home.cache_directory().join("sled"));
    cache.put("a", b"key", b"value");
    println!("memory of an open home      {:>10} KiB", resident_kib() - before);
    syncs(directory.path())?;
    commits(workspace.executions()).await?;
    puts(workspace.executions(), BURST, 1_000_000).await?;
    puts(workspace.executions(), PUTS, 2_000_000).await?;
    println!("memory after puts           {:>10} KiB", resident_kib() - before);
    sources(&workspace).await?;
    println!("memory after all of it      {:>10} KiB", resident_kib() - before);
    drop((installation, workspace, cache));
    Ok(())
}

/// What a sync of 4 KiB costs without any database.
fn syncs(directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut file = File::create(directory.join("raw"))?;
    let begun = Instant::now();
    for _ in 0..200 {
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
    }
    println!("raw append and fdatasync    {:>10.1} µs", micros(begun, 200));
    Ok(())
}

async fn commits(executions: &Executions) -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    for number in 0..200 {
        executions.commit(vec![put(number, 1)]).await?;
    }
    println!("one synced commit           {:>10.1} µs", micros(begun, 200));
    Ok(())
}

async fn puts(executions: &Executions, count: u64, first: u64) -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let runtime = &tokio::runtime::Handle::current();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for number in 0..count / THREADS {
                    runtime.block_on(executions.room());
                    let change = put(first + number, thread);
                    executions.commit_behind(vec![change]).expect("the writer lives");
                }
            });
        }
    });
    let accepted = begun.elapsed();
    executions.written().await?;
    let written = begun.elapsed();
    executions.synced().await?;
    let synced = begun.elapsed();
    println!("{count} puts behind, {THREADS} threads: per second");
    println!("  accepted                  {:>10.0}", per_second(count, accepted));
    println!("  written                   {:>10.0}", per_second(count, written));
    println!("  synced                    {:>10.0}", per_second(count, synced));
    Ok(())
}

async fn sources(workspace: &Workspace) -> Result<(), Box<dyn std::error::Error>> {
    for count in [1_223, 11_422] {
        let name = SourceName::parse(&format!("api{count}"))?;
        for round in ["added", "replaced"] {
            let staged = staged(count);
            let row = source(name.clone(), count as u64);
            let begun = Instant::now();
            workspace.replace_source(row, staged, None).await?;
            println!("{count} tools {round:<17}{:>10.1} ms", micros(begun, 1) / 1000.0);
        }
        let begun = Instant::now();
        for turn in 0..10_000 {
            let tool = workspace.tool(&name, &tool_name(turn * 37 % count))?;
            assert!(tool.is_some());
        }
        println!("one tool of {count:<16}{:>10.1} µs", micros(begun, 10_000));
        let begun = Instant::now();
        let mut bytes = 0;
        workspace.each_tool(&name, &mut |tool| bytes += tool.input_schema.len())?;
        println!("each tool of {count:<15}{:>10.1} ms", micros(begun, 1) / 1000.0);
        assert!(bytes > 0);
    }
    Ok(())
}

fn put(number: u64, thread: u64) -> Change {
    let now = i64::try_from(number).expect("small");
    Change::Put(Box::new(ExecutionRow {
        id: ExecutionId::new(now, (thread << 8).to_be_bytes()),
        kind: "code".to_owned(),
        status: "completed".to_owned(),
        surface: "http".to_owned(),
        client: "figures".to_owned(),
        account: "local".to_owned(),
        title: "return 1 + 1".to_owned(),
        code: Some("return 1 + 1".to_owned()),
        compiled: Some("return 1 + 1;".to_owned()),
        source_map: None,
        engine: Some(Digest::of(b"engine")),
        input: None,
        created_ms: now,
        settled_ms: Some(now),
        result: Some("2".to_owned()),
        error: None,
        fuel: 1000,
        memory_bytes: 1 << 20,
        truncated: false,
        token: None,
        toolkit: None,
        spans: None,
    }))
}

fn source(name: SourceName, tool_count: u64) -> SourceRow {
    SourceRow {
        name,
        kind: "openapi".to_owned(),
        adapter: "openapi".to_owned(),
        adapter_digest: Digest::of(b"adapter"),
        title: "An API".to_owned(),
        version: None,
        config: "{}".to_owned(),
        settings: "{}".to_owned(),
        document: None,
        files: Vec::new(),
        document_url: None,
        media_type: None,
        origins: vec!["https://api.example.com".to_owned()],
        allowed_hosts: vec![],
        trusted: false,
        tool_count,
        warning_count: 0,
        meta: "{}".to_owned(),
        command: None,
        created_ms: 1,
        refreshed_ms: 1,
    }
}

fn tool_name(number: usize) -> String {
    format!("group{:03}.operation{number:05}", number % 100)
}

/// About the sizes of GitHub's document: 4 KiB a tool, and as many
/// definitions as there are tools, of 1.5 KiB.
fn staged(count: usize) -> Staged {
    let tool = |number: usize| ToolRow {
        name: tool_name(number),
        description: "d".repeat(400),
        title: None,
        summary: "s".repeat(60),
        request: Some("POST /repos/{owner}/{repo}/issues".to_owned()),
        input_schema: "i".repeat(1800),
        output_schema: Some("o".repeat(1000)),
        read_only: false,
        destructive: false,
        idempotent: false,
        deprecated: false,
        requires_approval: false,
        auth: vec![vec!["token".to_owned()]],
        binding: vec![7; 600],
        annotations_meta: None,
        meta: None,
        digest: Digest::of(&number.to_be_bytes()),
    };
    Staged {
        tools: (0..count).map(tool).collect(),
        definitions: (0..count).map(|number| (format!("Definition{number:05}"), "x".repeat(1500))).collect(),
        auth_methods: vec![],
        warnings: vec![],
    }
}

fn micros(begun: Instant, count: u32) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6 / f64::from(count)
}

#[expect(clippy::cast_precision_loss, reason = "a figure to be read")]
fn per_second(count: u64, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64()
}

/// Memory of this process, where the system tells it.
fn resident_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
