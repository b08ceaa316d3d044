//! The daemon's settings: `<home>/config.toml`.

use std::time::Duration;

use executor_runtime::limits::{FUEL_PER_SECOND, Limits};
use executor_store::KeyringUse;
use executor_telemetry::logs::Bounds;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::{Problem, ProblemKind};

const MIB: u64 = 1024 * 1024;

/// A hundred years.
const DAYS_MAX: u64 = 36_500;

/// The largest memory that one execution may be given: the pool's slots.
const EXECUTE_MEMORY_MIB_MAX: u64 = 256;

/// All settings, with their defaults where the file says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Bounds of executions.
    pub limits: LimitSettings,
    /// What is kept on disk.
    pub storage: StorageSettings,
    /// The audit log.
    pub audit: AuditSettings,
    /// Questions to people.
    pub approvals: ApprovalSettings,
    /// The daemon's own log.
    pub logs: LogSettings,
    /// The key of the secrets.
    pub secrets: SecretSettings,
}

/// `[secrets]`
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecretSettings {
    /// Whether the first start of a home puts the key into the system's
    /// keyring.
    pub keyring: KeyringUse,
}

/// `[logs]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// The size of one file, in MiB.
    pub file_mib: u64,
    /// How many files there are at most.
    pub files: u64,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { file_mib: 8, files: 5 }
    }
}

impl LogSettings {
    /// What these come to.
    pub fn bounds(&self) -> Bounds {
        let files = u32::try_from(self.files).unwrap_or(u32::MAX);
        Bounds { file_bytes: self.file_mib.saturating_mul(MIB), files }
    }
}

/// `[limits]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Memory of one execution, in MiB, at most 256.
    pub execute_memory_mib: u64,
    /// Wall time of one execution without human time, in seconds.
    pub execute_wall_seconds: u64,
    /// CPU time of one execution, in seconds.
    pub execute_cpu_seconds: u64,
    /// The largest document that becomes a source, in MiB.
    pub document_mib: u64,
    /// How long a local program stays that no call needs, in seconds.
    pub process_idle_seconds: u64,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            execute_memory_mib: 64,
            execute_wall_seconds: 300,
            execute_cpu_seconds: 60,
            document_mib: 64,
            process_idle_seconds: 600,
        }
    }
}

/// `[storage]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSettings {
    /// Free disk space below which no new work is taken, in MiB.
    pub disk_floor_mib: u64,
    /// How long executions that have ended are kept, in days.
    pub keep_days: u64,
    /// How much all executions of a workspace may take, in MiB; the oldest
    /// that have ended go first.
    pub keep_mib: u64,
}

impl Default for StorageSettings {
    fn default() -> Self {
        Self { disk_floor_mib: 64, keep_days: 30, keep_mib: 2048 }
    }
}

/// `[audit]`
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuditSettings {
    /// How long records are kept, in days; 0: for ever.
    pub keep_days: u64,
}

/// `[approvals]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalSettings {
    /// How long a question waits for its answer, in hours.
    pub expire_hours: u64,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self { expire_hours: 7 * 24 }
    }
}

/// One setting, as `executor config` shows it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SettingView {
    /// `limits.execute_memory_mib`
    pub key: String,
    /// Its value.
    pub value: SettingValue,
    /// `default` or `config.toml`.
    pub source: &'static str,
    /// What it is where nothing is said.
    pub default: SettingValue,
}

/// The value of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum SettingValue {
    /// A count, or an amount of the unit that the key ends with.
    Number(u64),
    /// One of some words.
    Word(&'static str),
}

/// One setting that is a number: its name, its value and its bounds.
struct Field {
    key: &'static str,
    get: fn(&Settings) -> u64,
    least: u64,
    most: u64,
}

const fn field(key: &'static str, get: fn(&Settings) -> u64, least: u64, most: u64) -> Field {
    Field { key, get, least, most }
}

/// One setting that is one of some words.
struct Words {
    key: &'static str,
    get: fn(&Settings) -> &'static str,
}

/// Every setting that is one of some words.
const WORDS: &[Words] = &[Words {
    key: "secrets.keyring",
    get: |all| match all.secrets.keyring {
        KeyringUse::Auto => "auto",
        KeyringUse::On => "on",
        KeyringUse::Off => "off",
    },
}];

/// Every setting that is a number.
const FIELDS: &[Field] = &[
    field("limits.execute_memory_mib", |all| all.limits.execute_memory_mib, 4, EXECUTE_MEMORY_MIB_MAX),
    field("limits.execute_wall_seconds", |all| all.limits.execute_wall_seconds, 1, 24 * 3600),
    field("limits.execute_cpu_seconds", |all| all.limits.execute_cpu_seconds, 1, 24 * 3600),
    field("limits.document_mib", |all| all.limits.document_mib, 1, 256),
    field("limits.process_idle_seconds", |all| all.limits.process_idle_seconds, 1, 24 * 3600),
    field("storage.disk_floor_mib", |all| all.storage.disk_floor_mib, 0, u64::MAX / MIB),
    field("storage.keep_days", |all| all.storage.keep_days, 1, DAYS_MAX),
    field("storage.keep_mib", |all| all.storage.keep_mib, 16, u64::MAX / MIB),
    field("audit.keep_days", |all| all.audit.keep_days, 0, DAYS_MAX),
    field("approvals.expire_hours", |all| all.approvals.expire_hours, 1, DAYS_MAX * 24),
    field("logs.file_mib", |all| all.logs.file_mib, 1, 1024),
    field("logs.files", |all| all.logs.files, 1, 100),
];

impl Settings {
    /// Reads the text of a `config.toml`.
    ///
    /// # Errors
    /// Says what is wrong, with line and column, or which value is out of
    /// bounds.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let invalid = |message: String| {
            Problem::new(ProblemKind::Invalid, "invalid-config", message)
                .hint("`executor config get` lists the settings and their values")
        };
        let settings: Self =
            toml::from_str(text).map_err(|error| invalid(format!("config.toml: {error}")))?;
        for Field { key, get, least, most } in FIELDS {
            let value = get(&settings);
            if !(*least..=*most).contains(&value) {
                return Err(invalid(format!(
                    "config.toml: {key} is {value}; it must be between {least} and {most}"
                )));
            }
        }
        Ok(settings)
    }

    /// Every setting and where its value is from.
    pub fn views(&self) -> Vec<SettingView> {
        let default = Self::default();
        let view = |key: &str, value: SettingValue, default: SettingValue| SettingView {
            key: key.to_owned(),
            value,
            source: if value == default { "default" } else { "config.toml" },
            default,
        };
        let numbers = FIELDS.iter().map(|Field { key, get, .. }| {
            view(key, SettingValue::Number(get(self)), SettingValue::Number(get(&default)))
        });
        let words = WORDS.iter().map(|Words { key, get }| {
            view(key, SettingValue::Word(get(self)), SettingValue::Word(get(&default)))
        });
        numbers.chain(words).collect()
    }

    pub(crate) fn execute_limits(&self) -> Limits {
        Limits {
            fuel: self.limits.execute_cpu_seconds.saturating_mul(FUEL_PER_SECOND),
            memory_bytes: usize::try_from(self.limits.execute_memory_mib * MIB).unwrap_or(usize::MAX),
            wall: Duration::from_secs(self.limits.execute_wall_seconds),
            ..Limits::sandbox()
        }
    }

    /// How long a local program stays that no call needs.
    pub fn process_idle(&self) -> Duration {
        Duration::from_secs(self.limits.process_idle_seconds)
    }

    pub(crate) fn document_bytes(&self) -> usize {
        usize::try_from(self.limits.document_mib * MIB).unwrap_or(usize::MAX)
    }

    pub(crate) fn expire_ms(&self) -> i64 {
        hours_ms(self.approvals.expire_hours)
    }

    pub(crate) fn keep_ms(&self) -> i64 {
        hours_ms(self.storage.keep_days * 24)
    }

    pub(crate) fn keep_bytes(&self) -> u64 {
        self.storage.keep_mib.saturating_mul(MIB)
    }

    /// None: for ever.
    pub(crate) fn keep_audit_ms(&self) -> Option<i64> {
        (self.audit.keep_days > 0).then(|| hours_ms(self.audit.keep_days * 24))
    }

    pub(crate) fn disk_floor_bytes(&self) -> u64 {
        self.storage.disk_floor_mib * MIB
    }
}

fn hours_ms(hours: u64) -> i64 {
    i64::try_from(hours.saturating_mul(3_600_000)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_wrong_and_where() {
        for (text, expect) in [
            (
                "[limits]\nexecute_memory_mib = 1000",
                "execute_memory_mib is 1000; it must be between 4 and 256",
            ),
            ("[limits]\nexecute_memory = 10", "unknown field `execute_memory`"),
            ("limits = 3", "invalid type"),
            ("[storage", "config.toml:"),
            ("[logs]\nfiles = 0", "logs.files is 0; it must be between 1 and 100"),
            (
                "[secrets]\nkeyring = \"maybe\"",
                "unknown variant `maybe`, expected one of `auto`, `on`, `off`",
            ),
        ] {
            let problem = Settings::parse(text).expect_err("invalid");
            assert!(problem.message.contains(expect), "{}", problem.message);
        }
    }

    #[test]
    fn shows_where_a_value_is_from() {
        let settings = Settings::parse("[limits]\nexecute_wall_seconds = 10").expect("valid");
        let views = settings.views();
        let wall = views.iter().find(|view| view.key == "limits.execute_wall_seconds").expect("listed");
        let (value, default) = (SettingValue::Number(10), SettingValue::Number(300));
        assert_eq!((wall.value, wall.source, wall.default), (value, "config.toml", default));
        assert!(views.iter().filter(|view| view.source == "default").count() == views.len() - 1);
        let views = Settings::parse("[secrets]\nkeyring = \"off\"").expect("valid").views();
        let keyring = views.iter().find(|view| view.key == "secrets.keyring").expect("listed");
        let (value, default) = (SettingValue::Word("off"), SettingValue::Word("auto"));
        assert_eq!((keyring.value, keyring.source, keyring.default), (value, "config.toml", default));
    }
}
