//! The commits and branches of a repository.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::clock::Timestamp;
use super::encoding::hex;

/// The files of a commit, by path without a slash at the begin.
pub(crate) type Tree = BTreeMap<String, Bytes>;

#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) sha: String,
    /// The first is the one that the branch stood at.
    pub(crate) parents: Vec<String>,
    pub(crate) message: String,
    /// A login.
    pub(crate) author: String,
    pub(crate) at: Timestamp,
    pub(crate) tree: Tree,
}

/// What a commit is made from.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) parents: Vec<String>,
    pub(crate) message: String,
    pub(crate) author: String,
    pub(crate) at: Timestamp,
    pub(crate) tree: Tree,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// By hash.
    pub(crate) commits: BTreeMap<String, Commit>,
    /// By branch: the hash it stands at.
    pub(crate) branches: BTreeMap<String, String>,
}

/// What merging one commit into another comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// The base has it all already.
    Nothing,
    /// The files of both.
    Tree(Tree),
    /// The paths that both changed, differently.
    Conflict(Vec<String>),
}

impl History {
    /// Adds a commit and moves the branch to it.
    pub(crate) fn commit(&mut self, branch: &str, draft: Draft) -> String {
        let sha = sha_of_commit(&draft);
        let commit = Commit {
            sha: sha.clone(),
            parents: draft.parents,
            message: draft.message,
            author: draft.author,
            at: draft.at,
            tree: draft.tree,
        };
        self.commits.insert(sha.clone(), commit);
        self.branches.insert(branch.to_owned(), sha.clone());
        sha
    }

    /// What a branch or a hash names.
    pub(crate) fn resolve(&self, reference: &str) -> Option<&Commit> {
        let name = reference.strip_prefix("refs/heads/").unwrap_or(reference);
        let sha = self.branches.get(name).map_or(name, String::as_str);
        self.commits.get(sha)
    }

    /// A commit and all before it, newest first.
    pub(crate) fn log(&self, sha: &str) -> Vec<&Commit> {
        let seen = self.ancestors(sha);
        let mut commits: Vec<&Commit> = seen.iter().filter_map(|one| self.commits.get(*one)).collect();
        commits.sort_by(|a, b| (b.at, &b.sha).cmp(&(a.at, &a.sha)));
        commits
    }

    /// The commits of `head` that `base` has not, oldest first.
    pub(crate) fn ahead(&self, base: &str, head: &str) -> Vec<&Commit> {
        let have = self.ancestors(base);
        let mut commits = self.log(head);
        commits.retain(|commit| !have.contains(commit.sha.as_str()));
        commits.reverse();
        commits
    }

    /// Merges `head` into `base`, file by file, from what they have in common.
    pub(crate) fn merge(&self, base: &str, head: &str) -> Merge {
        if self.ancestors(base).contains(head) {
            return Merge::Nothing;
        }
        let nothing = Tree::new();
        let tree = |sha: &str| self.commits.get(sha).map_or(&nothing, |commit| &commit.tree);
        let (ours, theirs) = (tree(base), tree(head));
        let common = self.common(base, head).map_or(&nothing, |commit| &commit.tree);
        let mut merged = Tree::new();
        let mut conflicts = Vec::new();
        let paths: BTreeSet<&String> = ours.keys().chain(theirs.keys()).chain(common.keys()).collect();
        for path in paths {
            let (was, our, their) = (common.get(path), ours.get(path), theirs.get(path));
            let kept = if our == was {
                their
            } else if their == was || our == their {
                our
            } else {
                conflicts.push(path.clone());
                continue;
            };
            if let Some(file) = kept {
                merged.insert(path.clone(), file.clone());
            }
        }
        match conflicts.is_empty() {
            true => Merge::Tree(merged),
            false => Merge::Conflict(conflicts),
        }
    }

    /// The newest commit that both have.
    pub(crate) fn common(&self, one: &str, other: &str) -> Option<&Commit> {
        let seen = self.ancestors(one);
        self.log(other).into_iter().find(|commit| seen.contains(commit.sha.as_str()))
    }

    fn ancestors<'a>(&'a self, sha: &'a str) -> BTreeSet<&'a str> {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![sha];
        while let Some(sha) = waiting.pop() {
            if seen.insert(sha)
                && let Some(commit) = self.commits.get(sha)
            {
                waiting.extend(commit.parents.iter().map(String::as_str));
            }
        }
        seen
    }
}

/// Forty hexadecimal digits that name the content.
pub(crate) fn sha_of(content: &[u8]) -> String {
    hex(&Sha256::digest(content)[..20])
}

/// The hash of a tree's paths and files.
pub(crate) fn sha_of_tree(tree: &Tree) -> String {
    let mut text = String::new();
    for (path, file) in tree {
        text.push_str(&format!("{} {path}\n", sha_of(file)));
    }
    sha_of(text.as_bytes())
}

fn sha_of_commit(draft: &Draft) -> String {
    let text = format!(
        "{}\n{}\n{}\n{}\n{}",
        draft.parents.join(" "),
        draft.author,
        draft.at.text(),
        sha_of_tree(&draft.tree),
        draft.message,
    );
    sha_of(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::clock::Clock;
    use super::*;

    struct Lab {
        history: History,
        clock: Clock,
    }

    impl Lab {
        fn commit(&mut self, branch: &str, parents: &[&String], files: &[(&str, &str)]) -> String {
            let file =
                |(path, text): &(&str, &str)| ((*path).to_owned(), Bytes::copy_from_slice(text.as_bytes()));
            let draft = Draft {
                parents: parents.iter().map(|one| (*one).clone()).collect(),
                message: "a change".to_owned(),
                author: "octocat".to_owned(),
                at: self.clock.tick(),
                tree: files.iter().map(file).collect(),
            };
            self.history.commit(branch, draft)
        }
    }

    #[test]
    fn changes_of_different_files_merge_and_of_one_file_conflict() {
        let mut lab = Lab { history: History::default(), clock: Clock::default() };
        let root = lab.commit("main", &[], &[("a", "1"), ("b", "1"), ("gone", "1")]);
        let main = lab.commit("main", &[&root], &[("a", "2"), ("b", "1"), ("gone", "1")]);
        let side = lab.commit("side", &[&root], &[("a", "1"), ("b", "2"), ("new", "1")]);
        let clash = lab.commit("clash", &[&root], &[("a", "3"), ("b", "1"), ("gone", "1")]);
        let history = &lab.history;
        let Merge::Tree(tree) = history.merge(&main, &side) else {
            panic!("they do not conflict");
        };
        let files: Vec<(&str, &[u8])> = tree.iter().map(|(path, file)| (path.as_str(), &file[..])).collect();
        assert_eq!(files, [("a", &b"2"[..]), ("b", b"2"), ("new", b"1")]);
        assert_eq!(history.merge(&main, &clash), Merge::Conflict(vec!["a".to_owned()]));
        assert_eq!(history.merge(&main, &root), Merge::Nothing);
        assert_eq!(history.ahead(&main, &side)[0].sha, side);
        assert_eq!(history.common(&main, &side).map(|one| &one.sha), Some(&root));
    }
}
