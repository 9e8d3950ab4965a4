// SPDX-License-Identifier: MIT
//! Boolean functions as a library writes them, and as truth tables.
//!
//! Liberty's operators, the strongest first: `!a` and `a'`; `a ^ b`; `a b`, `a * b`, `a & b`; `a + b`,
//! `a | b`.

/// Variables of a truth table, at the most.
pub const MOST_VARIABLES: usize = 12;

/// Parentheses and inversions in each other, at the most.
const MOST_DEPTH: usize = 64;

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub enum Function {
    /// 0 or 1.
    Constant(bool),
    /// The value of a variable.
    Variable(usize),
    /// Inversion.
    Not(Box<Self>),
    /// Conjunction.
    And(Box<Self>, Box<Self>),
    /// Disjunction.
    Or(Box<Self>, Box<Self>),
    /// Exclusive disjunction.
    Xor(Box<Self>, Box<Self>),
}

impl Function {
    /// Reads a function; `names` says what stands for a name.
    pub fn parse(text: &str, names: &dyn Fn(&str) -> Option<Self>) -> Result<Self, String> {
        let mut parser = Parser { text, rest: text, names, depth: 0 };
        let function = parser.or()?;
        match parser.peek() {
            None => Ok(function),
            Some(found) => Err(parser.error(&format!("an operator, found {found}"))),
        }
    }

    /// Its value where bit `i` of `state` is variable `i`.
    pub fn at(&self, state: u32) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Variable(i) => state >> i & 1 != 0,
            Self::Not(a) => !a.at(state),
            Self::And(a, b) => a.at(state) && b.at(state),
            Self::Or(a, b) => a.at(state) || b.at(state),
            Self::Xor(a, b) => a.at(state) != b.at(state),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    names: &'a dyn Fn(&str) -> Option<Function>,
    depth: usize,
}

impl Parser<'_> {
    fn error(&self, expected: &str) -> String {
        let at = self.text.len() - self.rest.len() + 1;
        format!("function \"{}\", character {at}: expected {expected}", self.text)
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn takes(&mut self, characters: &[char]) -> bool {
        let found = self.peek().is_some_and(|c| characters.contains(&c));
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn or(&mut self) -> Result<Function, String> {
        let mut function = self.and()?;
        while self.takes(&['+', '|']) {
            function = Function::Or(function.into(), self.and()?.into());
        }
        Ok(function)
    }

    fn and(&mut self) -> Result<Function, String> {
        let mut function = self.xor()?;
        let begins = |c: char| is_of_name(c) || c == '(' || c == '!';
        while self.takes(&['*', '&']) || self.peek().is_some_and(begins) {
            function = Function::And(function.into(), self.xor()?.into());
        }
        Ok(function)
    }

    fn xor(&mut self) -> Result<Function, String> {
        let mut function = self.operand()?;
        while self.takes(&['^']) {
            function = Function::Xor(function.into(), self.operand()?.into());
        }
        Ok(function)
    }

    fn operand(&mut self) -> Result<Function, String> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.error(&format!("at most {MOST_DEPTH} levels")));
        }
        let mut function = if self.takes(&['!']) {
            Function::Not(self.operand()?.into())
        } else if self.takes(&['(']) {
            let inner = self.or()?;
            if !self.takes(&[')']) {
                return Err(self.error("a closing parenthesis"));
            }
            inner
        } else {
            self.name()?
        };
        while self.takes(&['\'']) {
            function = Function::Not(function.into());
        }
        self.depth -= 1;
        Ok(function)
    }

    fn name(&mut self) -> Result<Function, String> {
        self.peek();
        let end = self.rest.find(|c| !is_of_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let function = match name {
            "0" => Some(Function::Constant(false)),
            "1" => Some(Function::Constant(true)),
            _ => (self.names)(name),
        };
        let function = function.ok_or_else(|| self.error("the name of a pin"))?;
        self.rest = rest;
        Ok(function)
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_[].".contains(c)
}

/// A function as a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth(Vec<u64>);

impl Truth {
    /// The table of a function of so many variables, at most [`MOST_VARIABLES`].
    pub fn of(function: &Function, variables: usize) -> Self {
        debug_assert!(variables <= MOST_VARIABLES);
        let states = 1_usize << variables;
        let mut words = vec![0; states.div_ceil(64)];
        for state in (0..states).filter(|state| function.at(*state as u32)) {
            words[state / 64] |= 1 << (state % 64);
        }
        Self(words)
    }

    /// Those of the first `variables` on which it depends.
    pub fn support(&self, variables: usize) -> impl Iterator<Item = usize> {
        let states = move || 0..1_u32 << variables;
        let matters = move |n: &usize| states().any(|s| self.at(s) != self.at(s ^ 1 << n));
        (0..variables).filter(matters)
    }

    /// The value in a state.
    pub fn at(&self, state: u32) -> bool {
        self.0[state as usize / 64] >> (state % 64) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<u64, String> {
        let names =
            |name: &str| ["A", "B", "C"].iter().position(|n| *n == name).map(Function::Variable);
        Ok(Truth::of(&Function::parse(text, &names)?, 3).0[0])
    }

    #[test]
    fn operators_bind_as_in_liberty() {
        let [a, b, c] = [0xAA, 0xCC, 0xF0];
        assert_eq!(table("A B + C"), Ok(a & b | c));
        assert_eq!(table("(!(A B))"), Ok(!(a & b) & 0xFF));
        assert_eq!(table("A'B|!C"), Ok((!a & b | !c) & 0xFF));
        assert_eq!(table("A ^ B * C"), Ok((a ^ b) & c));
        assert_eq!(table("(A+B)' ^ 1"), Ok(a | b));
        assert_eq!(table("!(A&(B|C))''"), Ok(!(a & (b | c)) & 0xFF));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let error = table("A & (B").expect_err("not closed");
        assert!(error.ends_with("character 7: expected a closing parenthesis"), "{error}");
        assert!(table("A & X").expect_err("no X").contains("character 5"));
        assert!(table("A )").expect_err("too many").contains("found )"));
        assert!(table("").is_err());
        assert!(table(&"(".repeat(1000)).expect_err("deep").contains("64 levels"));
        assert!(table(&"!".repeat(1000)).is_err());
    }
}
