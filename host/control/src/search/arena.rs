//! Many short strings in one allocation.

/// Strings by number, in the order they were pushed.
#[derive(Debug, Default)]
pub(super) struct Arena {
    text: String,
    ends: Vec<u32>,
}

impl Arena {
    /// Appends `text`; its number is the count before.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        let end = u32::try_from(self.text.len()).expect("an index holds far less than 4 GiB of names");
        self.ends.push(end);
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string with this number, which must exist.
    pub(super) fn get(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[number] as usize]
    }

    /// The first number whose string is not below `key`, in a sorted arena.
    pub(super) fn lower_bound(&self, key: &str) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The number of `key` in a sorted arena.
    pub(super) fn find(&self, key: &str) -> Option<usize> {
        let at = self.lower_bound(key);
        (at < self.len() && self.get(at) == key).then_some(at)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|number| self.get(number))
    }

    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_in_a_sorted_arena() {
        let mut arena = Arena::default();
        assert_eq!(arena.find("a"), None);
        for text in ["", "a", "ab", "b"] {
            arena.push(text);
        }
        assert_eq!(arena.find("ab"), Some(2));
        assert_eq!(arena.find(""), Some(0));
        assert_eq!(arena.find("aa"), None);
        assert_eq!(arena.lower_bound("aa"), 2);
        assert_eq!(arena.lower_bound("c"), 4);
        assert_eq!(arena.iter().collect::<Vec<_>>(), ["", "a", "ab", "b"]);
    }
}
