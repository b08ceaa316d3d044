//! What a tool does to its object, and what a query wants done.

/// The kind of an action, as far as names tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// No verb that is known, or one that means only itself (`merge`, `lock`).
    Other,
    List,
    Get,
    Search,
    Create,
    Update,
    Delete,
    /// Creates or updates, whichever it takes.
    Put,
    /// Of a query: an imperative that means only itself (`star a repository`).
    Act,
}

impl Verb {
    /// The kind of a lower-case word.
    pub(super) fn of(word: &str) -> Self {
        match word {
            "list" | "lists" | "enumerate" | "browse" | "all" => Self::List,
            "get" | "gets" | "fetch" | "read" | "retrieve" | "retrieves" | "show" | "view" | "display"
            | "describe" | "returns" | "return" | "see" | "check" => Self::Get,
            "search" | "query" | "find" | "lookup" => Self::Search,
            "create" | "creates" | "add" | "adds" | "new" | "open" | "make" | "insert" | "register" => {
                Self::Create
            }
            "update" | "updates" | "edit" | "modify" | "patch" | "change" | "set" | "sets" | "replace"
            | "rename" | "put" => Self::Update,
            "delete" | "deletes" | "remove" | "removes" | "destroy" | "drop" | "erase" => Self::Delete,
            _ => Self::Other,
        }
    }

    /// The kind of a tool, from the words of its name and of its summary.
    pub(super) fn of_tool(name: &[String], summary_first: Option<&str>) -> Self {
        let first = name.first().map_or(Self::Other, |word| Self::of(word));
        let summary = summary_first.map_or(Self::Other, Self::of);
        let all = name.iter().any(|word| word == "all");
        let either = name.get(1).is_some_and(|word| word == "or");
        match (first, summary) {
            (Self::Create | Self::Update, _) if either => Self::Put,
            (Self::Get, Self::List) => Self::List,
            (Self::Get, _) if all => Self::List,
            (Self::Other, summary) => summary,
            (first, _) => first,
        }
    }

    fn reads(self) -> bool {
        matches!(self, Self::List | Self::Get | Self::Search)
    }

    /// How well a tool that does `tool` serves a query that wants `self`: a
    /// factor of its score. `read_only` is what the tool says about itself.
    pub(super) fn fit(self, tool: Verb, read_only: bool) -> f32 {
        if self == Self::Other {
            // A bare noun is more often looked at than changed.
            return if read_only { 1.08 } else { 1.0 };
        }
        if self == tool || (tool == Self::Put && matches!(self, Self::Create | Self::Update)) {
            return 1.35;
        }
        if self == Self::Act {
            return match tool {
                Self::Other => 1.1,
                Self::Create => 1.15,
                Self::Update | Self::Put => 1.0,
                Self::Delete => 0.8,
                _ => 0.7,
            };
        }
        if self.reads() {
            return match tool {
                Self::Other if read_only => 1.1,
                Self::Other => 0.85,
                tool if tool.reads() => 1.12,
                _ => 0.65,
            };
        }
        match (self, tool) {
            (_, Self::Other) => {
                if read_only {
                    0.8
                } else {
                    1.0
                }
            }
            (Self::Create, Self::Update) | (Self::Update, Self::Create) => 0.95,
            _ => 0.65,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, summary: Option<&str>, expect: Verb) {
        let words: Vec<String> = name.split(' ').map(str::to_owned).collect();
        assert_eq!(Verb::of_tool(&words, summary), expect, "{name}");
    }

    #[test]
    fn names_tell_before_summaries() {
        check("create", Some("add"), Verb::Create);
        check("merge", Some("merge"), Verb::Other);
        check("root", Some("get"), Verb::Get);
        check("get usage", Some("list"), Verb::List);
        check("get all environments", None, Verb::List);
        check("create or update", None, Verb::Put);
    }

    #[test]
    fn what_is_asked_for_fits_best() {
        let all =
            [Verb::Other, Verb::List, Verb::Get, Verb::Search, Verb::Create, Verb::Update, Verb::Delete];
        for wanted in &all[1..] {
            for tool in all.iter().filter(|tool| *tool != wanted) {
                assert!(wanted.fit(*tool, true) < wanted.fit(*wanted, true));
                assert!(wanted.fit(*tool, false) < wanted.fit(*wanted, false));
            }
        }
        assert!(Verb::Create.fit(Verb::Delete, false) < Verb::Create.fit(Verb::Update, false));
    }
}
