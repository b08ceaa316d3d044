//! A text for a regular expression, as far as the expressions of published
//! schemas go: the shortest way through it.

/// A text that should match, at least `least` characters long where repeats
/// allow it; none for what is not understood here.
pub(crate) fn matching(pattern: &str, least: usize) -> Option<String> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut reader = Reader { chars: &chars, at: 0, least };
    let text = reader.alternatives()?;
    (reader.at == chars.len()).then_some(text)
}

struct Reader<'c> {
    chars: &'c [char],
    at: usize,
    least: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += 1;
        next
    }

    /// The first alternative; the others are read over.
    fn alternatives(&mut self) -> Option<String> {
        let first = self.sequence()?;
        while self.peek() == Some('|') {
            self.at += 1;
            self.sequence()?;
        }
        Some(first)
    }

    fn sequence(&mut self) -> Option<String> {
        let mut text = String::new();
        while let Some(next) = self.peek() {
            if next == '|' || next == ')' {
                break;
            }
            let atom = self.atom()?;
            let (least, most) = self.repeat()?;
            let missing = self.least.saturating_sub(text.chars().count());
            let times = if most > least.max(1) {
                least.max(missing.min(most)).max(usize::from(least == 0 && most > 1))
            } else {
                least
            };
            for _ in 0..times.min(3000) {
                text.push_str(&atom);
            }
        }
        Some(text)
    }

    fn atom(&mut self) -> Option<String> {
        match self.next()? {
            '^' | '$' => Some(String::new()),
            '.' => Some("x".to_owned()),
            '[' => self.class().map(String::from),
            '(' => {
                if self.peek() == Some('?') {
                    self.at += 1;
                    match self.next()? {
                        ':' => {}
                        'P' | '<' => while self.next()? != '>' {},
                        _ => return None,
                    }
                }
                let inside = self.alternatives()?;
                (self.next()? == ')').then_some(inside)
            }
            '\\' => escape(self.next()?).map(String::from),
            '*' | '+' | '?' => None,
            literal => Some(literal.to_string()),
        }
    }

    fn repeat(&mut self) -> Option<(usize, usize)> {
        let bounds = match self.peek() {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => {
                let end = self.chars[self.at..].iter().position(|c| *c == '}')? + self.at;
                let inside: String = self.chars[self.at + 1..end].iter().collect();
                self.at = end;
                match inside.split_once(',') {
                    None => (inside.parse().ok()?, inside.parse().ok()?),
                    Some((least, "")) => (least.parse().ok()?, usize::MAX),
                    Some((least, most)) => (least.parse().unwrap_or(0), most.parse().ok()?),
                }
            }
            _ => return Some((1, 1)),
        };
        self.at += 1;
        if matches!(self.peek(), Some('?' | '+')) {
            self.at += 1;
        }
        Some(bounds)
    }

    /// One character of a class.
    fn class(&mut self) -> Option<char> {
        let negated = self.peek() == Some('^');
        self.at += usize::from(negated);
        let mut members: Vec<(char, char)> = Vec::new();
        let mut first = true;
        loop {
            let start = match self.next()? {
                ']' if !first => break,
                '\\' => escape(self.next()?)?,
                other => other,
            };
            first = false;
            let ranged = self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|c| *c != ']');
            let end = if ranged {
                self.at += 1;
                match self.next()? {
                    '\\' => escape(self.next()?)?,
                    other => other,
                }
            } else {
                start
            };
            members.push((start, end));
        }
        if !negated {
            let usual =
                ['a', 'A', '1'].into_iter().find(|c| members.iter().any(|(from, to)| from <= c && c <= to));
            return usual.or_else(|| members.first().map(|(from, _)| *from));
        }
        ['a', '1', '-', '~', 'Z'].into_iter().find(|c| !members.iter().any(|(from, to)| from <= c && c <= to))
    }
}

fn escape(c: char) -> Option<char> {
    Some(match c {
        'd' => '1',
        'w' => 'a',
        's' => ' ',
        'D' | 'S' => 'a',
        'W' => '-',
        'n' => '\n',
        't' => '\t',
        'p' | 'P' | 'u' | 'x' | 'b' | 'B' | 'k' => return None,
        other if other.is_ascii_digit() => return None,
        other => other,
    })
}
