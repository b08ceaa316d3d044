//! The daemon's settings: `<home>/config.toml`.

use std::time::Duration;

use executor_runtime::limits::{FUEL_PER_SECOND, Limits};
use executor_telemetry::logs::Bounds;
use serde::{Deserialize, Serialize};

use crate::problem::{Problem, ProblemKind};

const MIB: u64 = 1024 * 1024;

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
    /// The daemon's own log.
    pub logs: LogSettings,
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
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self { execute_memory_mib: 64, execute_wall_seconds: 300, execute_cpu_seconds: 60, document_mib: 64 }
    }
}

/// `[storage]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSettings {
    /// Free disk space below which no new work is taken, in MiB.
    pub disk_floor_mib: u64,
}

impl Default for StorageSettings {
    fn default() -> Self {
        Self { disk_floor_mib: 64 }
    }
}

/// One setting, as `executor config` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct SettingView {
    /// `limits.execute_memory_mib`
    pub key: String,
    /// Its value.
    pub value: u64,
    /// `default` or `config.toml`.
    pub source: &'static str,
    /// What it is where nothing is said.
    pub default: u64,
}

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
        let limits = &settings.limits;
        let bounds = [
            ("limits.execute_memory_mib", limits.execute_memory_mib, 4, EXECUTE_MEMORY_MIB_MAX),
            ("limits.execute_wall_seconds", limits.execute_wall_seconds, 1, 24 * 3600),
            ("limits.execute_cpu_seconds", limits.execute_cpu_seconds, 1, 24 * 3600),
            ("limits.document_mib", limits.document_mib, 1, 256),
            ("storage.disk_floor_mib", settings.storage.disk_floor_mib, 0, u64::MAX / MIB),
            ("logs.file_mib", settings.logs.file_mib, 1, 1024),
            ("logs.files", settings.logs.files, 1, 100),
        ];
        for (key, value, least, most) in bounds {
            if !(least..=most).contains(&value) {
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
        let values = |settings: &Self| {
            [
                ("limits.execute_memory_mib", settings.limits.execute_memory_mib),
                ("limits.execute_wall_seconds", settings.limits.execute_wall_seconds),
                ("limits.execute_cpu_seconds", settings.limits.execute_cpu_seconds),
                ("limits.document_mib", settings.limits.document_mib),
                ("storage.disk_floor_mib", settings.storage.disk_floor_mib),
                ("logs.file_mib", settings.logs.file_mib),
                ("logs.files", settings.logs.files),
            ]
        };
        let pairs = values(self).into_iter().zip(values(&default));
        pairs
            .map(|((key, value), (_, default))| SettingView {
                key: key.to_owned(),
                value,
                source: if value == default { "default" } else { "config.toml" },
                default,
            })
            .collect()
    }

    pub(crate) fn execute_limits(&self) -> Limits {
        Limits {
            fuel: self.limits.execute_cpu_seconds.saturating_mul(FUEL_PER_SECOND),
            memory_bytes: usize::try_from(self.limits.execute_memory_mib * MIB).unwrap_or(usize::MAX),
            wall: Duration::from_secs(self.limits.execute_wall_seconds),
            ..Limits::sandbox()
        }
    }

    pub(crate) fn document_bytes(&self) -> usize {
        usize::try_from(self.limits.document_mib * MIB).unwrap_or(usize::MAX)
    }

    pub(crate) fn disk_floor_bytes(&self) -> u64 {
        self.storage.disk_floor_mib * MIB
    }
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
        assert_eq!((wall.value, wall.source, wall.default), (10, "config.toml", 300));
        assert!(views.iter().filter(|view| view.source == "default").count() == views.len() - 1);
    }
}
