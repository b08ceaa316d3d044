//! Text to words, words to terms.
//!
//! A word is a run of letters and digits, cut where camelCase turns and where
//! letters meet digits; a term is what a word is indexed under: lower case,
//! without its inflection, in the canonical spelling.

use super::synonyms;

/// Longer words are hashes, base64 and the like: nobody searches by them.
const MAX_WORD_BYTES: usize = 40;
/// Prose words such as `GitHub` or `JavaScript` are also kept whole up to this.
const MAX_WHOLE_BYTES: usize = 14;

/// How a text is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Identifiers: `listForRepo` is `list`, `for`, `repo`.
    Name,
    /// Prose: as names, and `GitHub` is `github` as well as `git` and `hub`.
    Prose,
}

/// Calls `emit` for each word of `text`, in lower case, until it answers false.
pub(super) fn words(text: &str, style: Style, emit: &mut dyn FnMut(&str) -> bool) {
    let mut buffer = String::new();
    for run in text.split(|c: char| !c.is_alphanumeric()) {
        if run.is_empty() {
            continue;
        }
        let more = if run.is_ascii() {
            ascii_run(run, style, &mut buffer, emit)
        } else {
            unicode_run(run, &mut buffer, emit)
        };
        if !more {
            return;
        }
    }
}

fn ascii_run(run: &str, style: Style, buffer: &mut String, emit: &mut dyn FnMut(&str) -> bool) -> bool {
    let bytes = run.as_bytes();
    let mut start = 0;
    for at in 1..=bytes.len() {
        if at < bytes.len() && !turns(bytes, start, at) {
            continue;
        }
        if !put(&run[start..at], buffer, emit) {
            return false;
        }
        start = at;
        // The rest of a run that no word can be made of is not looked at.
        if at > 8 * MAX_WORD_BYTES {
            return true;
        }
    }
    let cut = turns_somewhere(bytes);
    let mixed = bytes.iter().any(u8::is_ascii_digit);
    let proper = style == Style::Prose && bytes[0].is_ascii_uppercase();
    if cut && (mixed || proper) && run.len() <= MAX_WHOLE_BYTES {
        return put(run, buffer, emit);
    }
    true
}

fn turns_somewhere(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_WHOLE_BYTES && (1..bytes.len()).any(|at| turns(bytes, 0, at))
}

/// Whether a new word starts at `at`, in a word that started at `start`.
fn turns(bytes: &[u8], start: usize, at: usize) -> bool {
    let (before, here) = (bytes[at - 1], bytes[at]);
    if before.is_ascii_digit() && here.is_ascii_uppercase() {
        return at - start > 1;
    }
    if before.is_ascii_digit() != here.is_ascii_digit() {
        // `s3`, `k8s`, `v2` stay whole: their letters alone say nothing.
        return at - start >= 3 && bytes.len() > 3;
    }
    if !here.is_ascii_uppercase() {
        return false;
    }
    let acronym_ends = before.is_ascii_uppercase() && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    // One letter before a capital is part of the word: `OAuth`, `iPhone`.
    (before.is_ascii_lowercase() || acronym_ends) && at - start > 1
}

fn put(word: &str, buffer: &mut String, emit: &mut dyn FnMut(&str) -> bool) -> bool {
    if word.len() > MAX_WORD_BYTES {
        return true;
    }
    buffer.clear();
    buffer.push_str(word);
    buffer.make_ascii_lowercase();
    emit(buffer)
}

/// Scripts without spaces between words are indexed by the character.
fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

fn unicode_run(run: &str, buffer: &mut String, emit: &mut dyn FnMut(&str) -> bool) -> bool {
    buffer.clear();
    let mut before_is_lower = false;
    for character in run.chars() {
        let ideograph = is_ideograph(character);
        let turn = ideograph || (before_is_lower && character.is_uppercase());
        if turn && !flush(buffer, emit) {
            return false;
        }
        before_is_lower = character.is_lowercase();
        if buffer.len() <= MAX_WORD_BYTES {
            buffer.extend(character.to_lowercase());
        }
        if ideograph && !flush(buffer, emit) {
            return false;
        }
    }
    flush(buffer, emit)
}

fn flush(buffer: &mut String, emit: &mut dyn FnMut(&str) -> bool) -> bool {
    let usable = !buffer.is_empty() && buffer.len() <= MAX_WORD_BYTES;
    let more = !usable || emit(buffer);
    buffer.clear();
    more
}

/// The term of a lower-case word, written over `word`.
pub(super) fn normalise(word: &mut String) {
    if let Some(canonical) = synonyms::canonical(word) {
        canonical.clone_into(word);
    }
    stem(word);
    if let Some(canonical) = synonyms::canonical(word) {
        canonical.clone_into(word);
        stem(word);
    }
}

/// Takes off plural, -ing, -ed and a final -e, so that `create`, `creates`,
/// `created` and `creating` are one term. English alone; other words that it
/// shortens are shortened alike in documents and queries.
fn stem(word: &mut String) {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    singular(word);
    for suffix in ["ing", "ed"] {
        let Some(rest) = word.strip_suffix(suffix) else {
            continue;
        };
        if rest.len() >= 3 && rest.bytes().any(is_vowel) {
            word.truncate(rest.len());
            undouble(word);
            break;
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
}

fn singular(word: &mut String) {
    let length = word.len();
    if length <= 3 || !word.ends_with('s') {
        return;
    }
    if word.ends_with("ies") && length > 4 {
        word.truncate(length - 3);
        word.push('y');
    } else if ["sses", "xes", "ches", "shes", "zzes"].iter().any(|end| word.ends_with(end)) {
        word.truncate(length - 2);
    } else if !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.truncate(length - 1);
    }
}

fn is_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// `stopp` is `stop`; `install` and `pass` keep their ending.
fn undouble(word: &mut String) {
    let bytes = word.as_bytes();
    if let [.., before, last] = bytes
        && before == last
        && !matches!(last, b'l' | b's' | b'z' | b'e')
    {
        word.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, style: Style, expect: &[&str]) {
        let mut found = Vec::new();
        words(text, style, &mut |word| {
            found.push(word.to_owned());
            true
        });
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn cuts_names_where_they_turn() {
        check("listForRepo", Style::Name, &["list", "for", "repo"]);
        check("get_HTTPServer-name", Style::Name, &["get", "http", "server", "name"]);
        check("OAuthToken", Style::Name, &["oauth", "token"]);
        check("oauth2", Style::Name, &["oauth", "2", "oauth2"]);
        check("s3 k8s v2 ec2", Style::Name, &["s3", "k8s", "v2", "ec2"]);
        check("sha256Sum", Style::Name, &["sha", "256", "sum", "sha256sum"]);
        check("GitHub's API", Style::Prose, &["git", "hub", "github", "s", "api"]);
        check("GitHub", Style::Name, &["git", "hub"]);
        check("", Style::Prose, &[]);
        check("..--..", Style::Prose, &[]);
    }

    #[test]
    fn cuts_other_scripts() {
        check("ÉtatInitial", Style::Prose, &["état", "initial"]);
        check("検索する", Style::Prose, &["検", "索", "す", "る"]);
        check("straße Große", Style::Name, &["straße", "große"]);
    }

    #[test]
    fn leaves_out_what_is_too_long() {
        check(&"a".repeat(100), Style::Prose, &[]);
        check(&"é".repeat(100), Style::Prose, &[]);
        check("id AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Style::Prose, &["id"]);
    }

    #[track_caller]
    fn same(words: &[&str]) {
        let terms: Vec<String> = words
            .iter()
            .map(|word| {
                let mut word = (*word).to_owned();
                normalise(&mut word);
                word
            })
            .collect();
        assert!(terms.windows(2).all(|pair| pair[0] == pair[1]), "{words:?} are {terms:?}");
    }

    #[test]
    fn inflections_share_a_term() {
        same(&["create", "creates", "created", "creating"]);
        same(&["merge", "merges", "merged", "merging"]);
        same(&["repository", "repositories", "repo", "repos"]);
        same(&["organization", "organisations", "org", "orgs"]);
        same(&["branch", "branches"]);
        same(&["box", "boxes"]);
        same(&["stop", "stopped", "stopping"]);
        same(&["install", "installed"]);
        same(&["status"]);
        same(&["alias"]);
    }

    #[test]
    fn short_words_stay() {
        for word in ["us", "is", "ring", "red", "bed", "id", "api", "use", "s3"] {
            let mut term = word.to_owned();
            normalise(&mut term);
            assert_eq!(term, word);
        }
    }
}
