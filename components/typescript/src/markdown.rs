//! Code inside fenced Markdown blocks.

/// What a text turned out to be.
#[derive(Debug, PartialEq)]
pub(crate) enum Extracted {
    /// Code as it is.
    Plain,
    /// The fenced code of a document, each line where it was; every other
    /// line is empty.
    Fenced(String),
    /// A document whose blocks are all in other languages, which are named.
    NoCode(Vec<String>),
}

struct Block {
    language: String,
    /// Line numbers from 0: the first inside, and the one after the last.
    start: usize,
    end: usize,
}

const LANGUAGES: [&str; 10] =
    ["ts", "typescript", "js", "javascript", "tsx", "jsx", "mts", "mjs", "cts", "cjs"];

/// Finds the blocks of code. Several are joined in their order; blocks
/// without a language count where none has one that is ours.
pub(crate) fn extract(text: &str) -> Extracted {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let blocks = blocks(text, &lines);
    if blocks.is_empty() {
        return Extracted::Plain;
    }
    let ours = |block: &&Block| LANGUAGES.contains(&block.language.as_str());
    let mut chosen: Vec<&Block> = blocks.iter().filter(ours).collect();
    if chosen.is_empty() {
        chosen = blocks.iter().filter(|block| block.language.is_empty()).collect();
    }
    if chosen.is_empty() {
        return Extracted::NoCode(blocks.into_iter().map(|block| block.language).collect());
    }
    let mut code = String::with_capacity(text.len());
    for (number, line) in lines.iter().enumerate() {
        if chosen.iter().any(|block| (block.start..block.end).contains(&number)) {
            code.push_str(line);
        } else if line.ends_with('\n') {
            code.push('\n');
        }
    }
    Extracted::Fenced(code)
}

fn blocks(text: &str, lines: &[&str]) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<(Fence<'_>, usize)> = None;
    let mut offset = 0;
    for (number, line) in lines.iter().enumerate() {
        match (&open, fence(line)) {
            (None, Some(opening)) if !inside_comment(text, offset) => {
                open = Some((opening, number + 1));
            }
            (Some((opening, start)), Some(closing)) if closing.closes(opening) => {
                found.push(Block { language: opening.language(), start: *start, end: number });
                open = None;
            }
            _ => {}
        }
        offset += line.len();
    }
    if let Some((opening, start)) = open {
        found.push(Block { language: opening.language(), start, end: lines.len() });
    }
    found
}

struct Fence<'a> {
    mark: u8,
    length: usize,
    info: &'a str,
}

impl Fence<'_> {
    fn closes(&self, opening: &Self) -> bool {
        self.mark == opening.mark && self.length >= opening.length && self.info.is_empty()
    }

    /// The first word after the fence, without Pandoc's braces.
    fn language(&self) -> String {
        let word = self.info.split([' ', '\t', ',', '{']).next().unwrap_or_default();
        let word = if word.is_empty() { self.info } else { word };
        let word = word.trim_matches(['{', '}', '.', ' ']);
        word.split(' ').next().unwrap_or_default().to_ascii_lowercase()
    }
}

/// Three or more backticks or tildes alone at a line's start, as CommonMark
/// has it (section 4.5); any indentation, since blocks stand in lists.
fn fence(line: &str) -> Option<Fence<'_>> {
    let line = line.trim();
    let mark = *line.as_bytes().first()?;
    if mark != b'`' && mark != b'~' {
        return None;
    }
    let length = line.bytes().take_while(|byte| *byte == mark).count();
    let info = line[length..].trim();
    let odd = if mark == b'`' {
        info.contains('`')
    } else {
        // `~~~x;` is also an expression, if nobody's.
        info.contains([';', '('])
    };
    (length >= 3 && !odd).then_some(Fence { mark, length, info })
}

/// Whether a fence stands in a block comment of code: one that opened before
/// it and closes after it, with no other opening in between.
fn inside_comment(text: &str, offset: usize) -> bool {
    let (before, after) = text.split_at(offset);
    let opened = match (before.rfind("/*"), before.rfind("*/")) {
        (Some(open), Some(close)) => open > close,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let closed = match (after.find("*/"), after.find("/*")) {
        (Some(close), Some(open)) => close < open,
        (Some(_), None) => true,
        (None, _) => false,
    };
    opened && closed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(extract(text), Extracted::Fenced(expect.to_owned()), "{text}");
    }

    #[test]
    fn code_keeps_its_lines() {
        check("```ts\nreturn 1\n```\n", "\nreturn 1\n\n");
        check("Here:\n\n```typescript\na\nb\n```\nThat is it.", "\n\n\na\nb\n\n");
        check("1. Step\n   ```js\n   a\n   ```\n", "\n\n   a\n\n");
        check("~~~ts title=x\na\n~~~", "\na\n");
        check("````ts\n```\na\n````\n", "\n```\na\n\n");
        check("```ts\r\na\r\n```\r\n", "\na\r\n\n");
        check("```{.ts}\na\n```", "\na\n");
        check("```ts{1,2}\na\n```", "\na\n");
    }

    #[test]
    fn blocks_join_and_other_languages_drop_out() {
        check("```ts\na\n```\ntext\n```json\n{}\n```\n```js\nb\n```\n", "\na\n\n\n\n\n\n\nb\n\n");
        check("```\na\n```\n", "\na\n\n");
        check("```\noutput\n```\n```ts\na\n```\n", "\n\n\n\na\n\n");
        check("```ts\nreturn 1", "\nreturn 1");
        assert_eq!(
            extract("```python\nx\n```\n```sh\ny\n```"),
            Extracted::NoCode(vec!["python".into(), "sh".into()])
        );
    }

    #[test]
    fn code_that_only_looks_like_markdown_is_code() {
        for text in [
            "return 1",
            "const a = `\\`\\`\\`ts`;\nreturn a",
            "const a = ``;",
            "/*\n```ts\nfoo\n```\n*/\nreturn 1",
            "/**\n * ```ts\n * foo\n * ```\n */\nreturn 1",
            "```return 1```",
            "~~~a;\n",
            "",
        ] {
            assert_eq!(extract(text), Extracted::Plain, "{text}");
        }
        check("See src/*.ts:\n```ts\nreturn 1 /* x */\n```", "\n\nreturn 1 /* x */\n");
    }
}
