//! What the engine's Rust side remembers between calls into JavaScript.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};

use crate::bindings::{Level, Module};
use crate::bridge::Bridge;
use crate::source_map::SourceMap;

/// Whether the bridge may be used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Modules are being loaded, perhaps for a snapshot: nothing that a
    /// program could observe of the world may enter it.
    Loading,
    /// A program or a handler runs.
    Running,
}

/// Shared by the engine and by the functions that the prelude was given.
pub(crate) struct State {
    pub(crate) bridge: Box<dyn Bridge>,
    pub(crate) phase: Cell<Phase>,
    /// True while static imports are resolved; a dynamic one never is.
    pub(crate) linking: Cell<bool>,
    /// Sources by specifier, for the loader.
    pub(crate) sources: RefCell<BTreeMap<String, String>>,
    /// Log lines of the modules' top level.
    pub(crate) load_log: RefCell<Vec<(Level, String)>>,
    /// Rejections that nothing handles, by the promise's address.
    pub(crate) rejections: RefCell<Vec<(usize, String)>>,
    /// Whether the program has started a call.
    pub(crate) called: Cell<bool>,
    /// The state of `Math.random`, once it was used.
    pub(crate) generator: Cell<Option<[u64; 2]>>,
    maps: RefCell<HashMap<String, MapState>>,
}

enum MapState {
    Text(String),
    Parsed(Option<SourceMap>),
}

impl State {
    pub(crate) fn new(bridge: Box<dyn Bridge>) -> Self {
        Self {
            bridge,
            phase: Cell::new(Phase::Loading),
            linking: Cell::new(false),
            sources: RefCell::default(),
            load_log: RefCell::default(),
            rejections: RefCell::default(),
            called: Cell::new(false),
            generator: Cell::new(None),
            maps: RefCell::default(),
        }
    }

    /// Keeps a module's source map for the errors that it may come to.
    pub(crate) fn keep_map(&self, module: &Module) {
        let mut maps = self.maps.borrow_mut();
        match &module.source_map {
            Some(text) => maps.insert(module.specifier.clone(), MapState::Text(text.clone())),
            None => maps.remove(&module.specifier),
        };
    }

    /// Where the author wrote what stands at (line, column) of a module, both
    /// counted from 1. None where the module has no map.
    pub(crate) fn original(&self, specifier: &str, line: u32, column: u32) -> Option<(String, u32, u32)> {
        let mut maps = self.maps.borrow_mut();
        let entry = maps.get_mut(specifier)?;
        if let MapState::Text(text) = entry {
            *entry = MapState::Parsed(SourceMap::parse(text));
        }
        let MapState::Parsed(Some(map)) = entry else {
            return None;
        };
        map.original(line, column)
    }

    /// A rejection that somebody looks at after all.
    pub(crate) fn forget_rejection(&self, address: usize) {
        let mut rejections = self.rejections.borrow_mut();
        rejections.retain(|(known, _)| *known != address);
    }

    pub(crate) fn log(&self, level: Level, message: &str) {
        if self.phase.get() == Phase::Running {
            self.bridge.log(level, message);
            return;
        }
        let mut lines = self.load_log.borrow_mut();
        if lines.len() < crate::limits::LOAD_LOG_LINES {
            lines.push((level, message.to_owned()));
        }
    }
}
