//! The tables of `workspace.db`.

use crate::database::Plan;
use crate::once;
use crate::writer::SyncPolicy;

pub(super) const PLAN: Plan = Plan { steps: STEPS, page_bytes: 8192, sync: SyncPolicy::Always };

const STEPS: &[&str] = &[FORMAT_1, once::TABLE, OAUTH, COMMANDS, UNREVIEWED, FILES, PINNED_AUTH, BLOB_USE];

/// What a person authorized a connection for.
const OAUTH: &str = "ALTER TABLE connections ADD COLUMN oauth TEXT;";

/// What a source that is a program of this machine runs.
const COMMANDS: &str = "ALTER TABLE sources ADD COLUMN command TEXT;";

/// The writes that a refresh brought, until a person has seen them. A source
/// that never had tools, since it wants a sign-in first, gets its first ones by
/// a refresh too.
const UNREVIEWED: &str = "ALTER TABLE sources ADD COLUMN had_tools INTEGER NOT NULL DEFAULT 0;
UPDATE sources SET had_tools = tool_count > 0;
CREATE TABLE unreviewed (
    source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    changed INTEGER NOT NULL,
    request_before TEXT,
    since_ms INTEGER NOT NULL,
    UNIQUE (source, name)
) STRICT;";

/// The files that a source's document is, where it is several.
const FILES: &str = "ALTER TABLE sources ADD COLUMN files TEXT NOT NULL DEFAULT '[]';";

/// The auth methods of a connection, as they were when it was added.
const PINNED_AUTH: &str = "ALTER TABLE connections ADD COLUMN auth TEXT NOT NULL DEFAULT '[]';";

/// When a blob was last used, by which those that nobody uses go.
const BLOB_USE: &str = "ALTER TABLE blobs ADD COLUMN used_ms INTEGER NOT NULL DEFAULT 0;
UPDATE blobs SET used_ms = unixepoch() * 1000;";

/// What belongs to a source hangs on its number, so that replacing the source
/// keeps its connections, and removing it takes all of it along.
const FORMAT_1: &str = "
CREATE TABLE components (
    name TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    world TEXT NOT NULL,
    kind TEXT,
    size INTEGER NOT NULL,
    first_party INTEGER NOT NULL,
    imports TEXT NOT NULL,
    granted TEXT NOT NULL,
    added_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    adapter TEXT NOT NULL,
    adapter_digest BLOB NOT NULL,
    title TEXT NOT NULL,
    version TEXT,
    config TEXT NOT NULL,
    settings TEXT NOT NULL,
    document BLOB,
    document_url TEXT,
    media_type TEXT,
    origins TEXT NOT NULL,
    allowed_hosts TEXT NOT NULL,
    trusted INTEGER NOT NULL,
    tool_count INTEGER NOT NULL,
    warning_count INTEGER NOT NULL,
    meta TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    refreshed_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE tools (
    source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    read_only INTEGER NOT NULL,
    destructive INTEGER NOT NULL,
    idempotent INTEGER NOT NULL,
    deprecated INTEGER NOT NULL,
    requires_approval INTEGER NOT NULL,
    auth TEXT NOT NULL,
    title TEXT,
    summary TEXT NOT NULL,
    request TEXT,
    description TEXT NOT NULL,
    input_schema TEXT NOT NULL,
    output_schema TEXT,
    binding BLOB NOT NULL,
    annotations_meta TEXT,
    meta TEXT,
    UNIQUE (source, name)
) STRICT;

CREATE TABLE definitions (
    source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (source, name)
) STRICT;

CREATE TABLE auth_methods (
    source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    label TEXT NOT NULL,
    config TEXT NOT NULL,
    meta TEXT,
    UNIQUE (source, id)
) STRICT;

CREATE TABLE warnings (
    source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    tool TEXT,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    UNIQUE (source, position)
) STRICT;

CREATE TABLE connections (
    source INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    methods TEXT NOT NULL,
    variables TEXT NOT NULL,
    origins TEXT NOT NULL,
    state TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    UNIQUE (source, name)
) STRICT;

CREATE TABLE policies (
    id TEXT PRIMARY KEY,
    level TEXT NOT NULL,
    connection TEXT,
    position INTEGER NOT NULL,
    pattern TEXT NOT NULL,
    action TEXT NOT NULL,
    tool_digest BLOB,
    note TEXT,
    created_by TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE blobs (
    digest BLOB PRIMARY KEY,
    size INTEGER NOT NULL,
    name TEXT,
    media_type TEXT,
    created_ms INTEGER NOT NULL
) STRICT;
";
