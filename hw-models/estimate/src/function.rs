// SPDX-License-Identifier: MIT
//! Boolean functions as Liberty writes them, as truth tables.

/// Inputs of a function, at the most: what a truth table of 64 bits has room for.
const MOST_INPUTS: usize = 6;
/// Brackets in each other, at the most.
const MOST_DEPTH: usize = 32;

/// The value of input `i` in each row of a truth table.
const INPUTS: [u64; MOST_INPUTS] = [
    0xAAAA_AAAA_AAAA_AAAA,
    0xCCCC_CCCC_CCCC_CCCC,
    0xF0F0_F0F0_F0F0_F0F0,
    0xFF00_FF00_FF00_FF00,
    0xFFFF_0000_FFFF_0000,
    0xFFFF_FFFF_0000_0000,
];

/// The truth table of a function of `inputs`: bit n is its value where input i is bit i of n. None if it
/// is not understood, or has other or more inputs.
pub fn truth_table(function: &str, inputs: &[&str]) -> Option<u64> {
    if inputs.len() > MOST_INPUTS {
        return None;
    }
    let mut reader = Reader { rest: function.trim(), inputs, depth: 0 };
    let rows = 1_u64.checked_shl(1 << inputs.len()).map_or(u64::MAX, |rows| rows - 1);
    let table = reader.or()?;
    reader.rest.is_empty().then_some(table & rows)
}

/// Reads from left to right: or, and, exclusive or, not, from the loosest to the tightest.
struct Reader<'a> {
    rest: &'a str,
    inputs: &'a [&'a str],
    depth: usize,
}

impl Reader<'_> {
    /// Takes one of these characters, and blanks behind it.
    fn take(&mut self, characters: &[char]) -> bool {
        let rest = self.rest.strip_prefix(characters);
        self.rest = rest.map_or(self.rest, str::trim_start);
        rest.is_some()
    }

    fn or(&mut self) -> Option<u64> {
        let mut table = self.and()?;
        while self.take(&['+', '|']) {
            table |= self.and()?;
        }
        Some(table)
    }

    /// Two factors that stand side by side are multiplied as well.
    fn and(&mut self) -> Option<u64> {
        let mut table = self.exclusive_or()?;
        while self.take(&['*', '&'])
            || !(self.rest.is_empty() || self.rest.starts_with(['+', '|', ')']))
        {
            table &= self.exclusive_or()?;
        }
        Some(table)
    }

    fn exclusive_or(&mut self) -> Option<u64> {
        let mut table = self.factor()?;
        while self.take(&['^']) {
            table ^= self.factor()?;
        }
        Some(table)
    }

    fn factor(&mut self) -> Option<u64> {
        let mut inverted = false;
        while self.take(&['!']) {
            inverted = !inverted;
        }
        let mut table = if self.take(&['(']) {
            self.depth += 1;
            let inner = (self.depth <= MOST_DEPTH).then(|| self.or())??;
            self.depth -= 1;
            self.take(&[')']).then_some(inner)?
        } else {
            self.name()?
        };
        while self.take(&['\'']) {
            inverted = !inverted;
        }
        if inverted {
            table = !table;
        }
        Some(table)
    }

    fn name(&mut self) -> Option<u64> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '[' | ']');
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let number = self.inputs.iter().position(|&input| input == name)?;
        self.rest = rest.trim_start();
        INPUTS.get(number).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_write_a_nand_are_one() {
        for form in ["!(A B)", "(!(A & B))", "(A*B)'", "((A B)')", "!A|!B", "A' + B'", "! A + !B"] {
            assert_eq!(truth_table(form, &["A", "B"]), Some(0b0111), "{form}");
        }
        assert_eq!(truth_table("!(A | B)", &["A", "B"]), Some(0b0001));
    }

    #[test]
    fn operators_bind_as_liberty_says() {
        assert_eq!(truth_table("A + B C", &["A", "B", "C"]), Some(0b1110_1010));
        assert_eq!(truth_table("A & B ^ C", &["A", "B", "C"]), Some(0b0010_1000));
        assert_eq!(truth_table("A''", &["A"]), Some(0b10));
        assert_eq!(truth_table("A1[0]", &["A1[0]"]), Some(0b10));
    }

    #[test]
    fn what_is_no_function_is_none() {
        for form in ["", "A +", "(A", "A)", "D", "A && B", "A B' ^"] {
            assert_eq!(truth_table(form, &["A", "B"]), None, "{form}");
        }
        assert_eq!(truth_table(&("(".repeat(100_000) + "A"), &["A"]), None);
        assert_eq!(truth_table("A", &["A", "B", "C", "D", "E", "F", "G"]), None);
        for inputs in [32, 64, 20_000] {
            assert_eq!(truth_table("A", &vec!["A"; inputs]), None, "{inputs} inputs");
        }
    }
}
