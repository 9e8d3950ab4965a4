// SPDX-License-Identifier: MIT
//! Netlists: the structural part of Verilog that synthesis writes. One module; ports and wires,
//! assignments of wires and constants, and instances whose pins are named.

use std::collections::HashMap;

/// Nets of a netlist, at the most.
const MOST_NETS: usize = 1 << 24;
/// Bits of a port or wire, at the most.
const MOST_BITS: usize = 1 << 16;
/// Braces in each other, at the most.
const MOST_DEPTH: usize = 32;

/// A net, by number.
pub type Net = usize;
/// The net that is always 0.
pub const ZERO: Net = 0;
/// The net that is always 1.
pub const ONE: Net = 1;

/// A netlist.
#[derive(Clone, Debug)]
pub struct Netlist {
    /// Its module.
    pub module: String,
    /// Input ports with their bits, the lowest first.
    pub inputs: Vec<(String, Vec<Net>)>,
    /// Output ports.
    pub outputs: Vec<(String, Vec<Net>)>,
    /// Names of the nets, as Verilog writes them.
    pub nets: Vec<String>,
    /// The instances.
    pub instances: Vec<Instance>,
}

/// An instance of a cell.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// The cell.
    pub cell: String,
    /// Pins with their nets.
    pub pins: Vec<(String, Net)>,
}

impl Netlist {
    /// Reads a netlist; an error names its line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser {
            tokens: tokens(text)?.into_iter().peekable(),
            line: 1,
            names: HashMap::new(),
            nets: vec!["1'h0".to_owned(), "1'h1".to_owned()],
            same: vec![ZERO, ONE],
            depth: 0,
        };
        let mut netlist = parser.module().map_err(|e| format!("line {}: {e}", parser.line))?;
        let ports = netlist.inputs.iter_mut().chain(&mut netlist.outputs);
        let bits = ports.flat_map(|(_, bits)| bits);
        let pins = netlist.instances.iter_mut().flat_map(|instance| &mut instance.pins);
        bits.chain(pins.map(|(_, net)| net)).for_each(|net| *net = parser.find(*net));
        netlist.nets = parser.nets;
        Ok(netlist)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name; one that is escaped with its backslash.
    Name(String),
    Number(usize),
    /// A constant, its bits from the lowest.
    Bits(Vec<bool>),
    Sign(char),
}

/// The tokens with their lines.
fn tokens(text: &str) -> Result<Vec<(usize, Token)>, String> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("(*") {
            rest.find("*)").map_or(rest.len(), |end| end + 2)
        } else {
            0
        };
        if skipped > 0 {
            line += rest[..skipped].matches('\n').count();
            rest = &rest[skipped..];
            continue;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '\'';
        let end = match first {
            '\\' => rest.find(char::is_whitespace).unwrap_or(rest.len()),
            c if is_name(c) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let word = &rest[..end];
        let wrong = || format!("line {line}: {word}: expected a constant such as 4'ha");
        let token = match first {
            '0'..='9' if word.contains('\'') => Token::Bits(constant(word).ok_or_else(wrong)?),
            '0'..='9' => Token::Number(word.parse().map_err(|_| wrong())?),
            '\\' => Token::Name(word.to_owned()),
            c if is_name(c) => Token::Name(word.to_owned()),
            c => Token::Sign(c),
        };
        tokens.push((line, token));
        rest = &rest[end..];
    }
    Ok(tokens)
}

/// `4'ha` as bits. What is unknown is 0.
fn constant(word: &str) -> Option<Vec<bool>> {
    let (width, digits) = word.split_once('\'')?;
    let width: usize = width.parse().ok().filter(|width| (1..=MOST_BITS).contains(width))?;
    let base = digits.chars().next()?;
    let per_digit = match base.to_ascii_lowercase() {
        'h' => 4,
        'b' => 1,
        'd' => {
            let value: u64 = digits[1..].parse().ok()?;
            return Some((0..width).map(|bit| bit < 64 && value >> bit & 1 != 0).collect());
        }
        _ => return None,
    };
    let mut bits = Vec::new();
    for digit in digits[1..].chars().rev().filter(|c| *c != '_') {
        let digit = if "xzXZ?".contains(digit) { 0 } else { digit.to_digit(1 << per_digit)? };
        bits.extend((0..per_digit).map(|bit| digit >> bit & 1 != 0));
    }
    bits.resize(width, false);
    Some(bits)
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<(usize, Token)>>,
    line: usize,
    /// The bits of a name, and the index of the lowest.
    names: HashMap<String, (usize, Vec<Net>)>,
    nets: Vec<String>,
    /// Nets that are another by an assignment: a tree of which the root stands for all.
    same: Vec<Net>,
    /// Braces that are open.
    depth: usize,
}

impl Parser {
    fn find(&self, mut net: Net) -> Net {
        while self.same[net] != net {
            net = self.same[net];
        }
        net
    }

    fn next(&mut self) -> Result<Token, String> {
        let (line, token) = self.tokens.next().ok_or("expected endmodule")?;
        self.line = line;
        Ok(token)
    }

    fn takes(&mut self, sign: char) -> bool {
        self.tokens.next_if(|(_, token)| *token == Token::Sign(sign)).is_some()
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        match self.next()? {
            Token::Sign(found) if found == sign => Ok(()),
            found => Err(format!("expected {sign}, found {found:?}")),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.next()? {
            Token::Name(name) => Ok(name),
            found => Err(format!("expected a name, found {found:?}")),
        }
    }

    fn number(&mut self) -> Result<usize, String> {
        match self.next()? {
            Token::Number(number) => Ok(number),
            found => Err(format!("expected a number, found {found:?}")),
        }
    }

    fn module(&mut self) -> Result<Netlist, String> {
        if self.name()? != "module" {
            return Err("expected module".to_owned());
        }
        let module = self.name()?;
        while !self.takes(';') {
            self.next()?;
        }
        let (mut inputs, mut outputs, mut instances) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let word = self.name()?;
            match word.as_str() {
                "endmodule" => break,
                "input" | "output" | "wire" => {
                    for (name, bits) in self.declaration()? {
                        match word.as_str() {
                            "input" => inputs.push((name, bits)),
                            "output" => outputs.push((name, bits)),
                            _ => {}
                        }
                    }
                }
                "assign" => self.assignment()?,
                _ => instances.push(self.instance(word)?),
            }
        }
        Ok(Netlist { module, inputs, outputs, nets: Vec::new(), instances })
    }

    fn declaration(&mut self) -> Result<Vec<(String, Vec<Net>)>, String> {
        let range = if self.takes('[') {
            let high = self.number()?;
            self.expect(':')?;
            let low = self.number()?;
            self.expect(']')?;
            if high < low || high - low >= MOST_BITS {
                return Err(format!("[{high}:{low}]: expected the highest bit first"));
            }
            Some((high, low))
        } else {
            None
        };
        let mut declared = Vec::new();
        loop {
            let name = self.name()?;
            let known = self.names.get(&name);
            let bits = match (known, range) {
                // A port is declared as a wire once more.
                (Some((_, bits)), _) => bits.clone(),
                (None, None) => vec![self.net(name.clone())?],
                (None, Some((high, low))) => (low..=high)
                    .map(|bit| self.net(format!("{name}[{bit}]")))
                    .collect::<Result<_, _>>()?,
            };
            let low = range.map_or(0, |(_, low)| low);
            self.names.insert(name.clone(), (low, bits.clone()));
            declared.push((name, bits));
            if !self.takes(',') {
                self.expect(';')?;
                return Ok(declared);
            }
        }
    }

    fn net(&mut self, name: String) -> Result<Net, String> {
        if self.nets.len() >= MOST_NETS {
            return Err(format!("expected at most {MOST_NETS} nets"));
        }
        self.nets.push(name);
        self.same.push(self.nets.len() - 1);
        Ok(self.nets.len() - 1)
    }

    /// Bits, the lowest first.
    fn bits(&mut self) -> Result<Vec<Net>, String> {
        if self.takes('{') {
            self.depth += 1;
            if self.depth > MOST_DEPTH {
                return Err(format!("expected at most {MOST_DEPTH} braces in each other"));
            }
            let mut parts = vec![self.bits()?];
            while self.takes(',') {
                parts.push(self.bits()?);
            }
            self.expect('}')?;
            self.depth -= 1;
            return Ok(parts.into_iter().rev().flatten().collect());
        }
        let name = match self.next()? {
            Token::Bits(bits) => {
                return Ok(bits.into_iter().map(|bit| if bit { ONE } else { ZERO }).collect());
            }
            Token::Name(name) => name,
            found => return Err(format!("expected a net, found {found:?}")),
        };
        let range = if self.takes('[') {
            let high = self.number()?;
            let low = if self.takes(':') { self.number()? } else { high };
            self.expect(']')?;
            Some((high, low))
        } else {
            None
        };
        let (first, bits) =
            self.names.get(&name).ok_or_else(|| format!("{name}: expected a declared net"))?;
        match range {
            None => Ok(bits.clone()),
            Some((high, low)) => {
                let range = low.checked_sub(*first).zip(high.checked_sub(*first));
                let bits = range.and_then(|(low, high)| bits.get(low..=high));
                bits.map(<[_]>::to_vec).ok_or_else(|| format!("{name}: no bit {high}"))
            }
        }
    }

    fn assignment(&mut self) -> Result<(), String> {
        let left = self.bits()?;
        self.expect('=')?;
        let right = self.bits()?;
        self.expect(';')?;
        if left.len() != right.len() {
            return Err(format!("expected {} bits, found {}", left.len(), right.len()));
        }
        for (left, right) in left.into_iter().zip(right) {
            let (left, right) = (self.find(left), self.find(right));
            if left == ZERO || left == ONE {
                return Err("expected a net that is assigned once".to_owned());
            }
            self.same[left] = right;
        }
        Ok(())
    }

    fn instance(&mut self, cell: String) -> Result<Instance, String> {
        let name = self.name()?;
        self.expect('(')?;
        let mut pins = Vec::new();
        while !self.takes(')') {
            self.expect('.')?;
            let pin = self.name()?;
            self.expect('(')?;
            if !self.takes(')') {
                let bits = self.bits()?;
                let [net] = bits.as_slice() else {
                    return Err(format!("{name}, pin {pin}: expected one bit"));
                };
                pins.push((pin, *net));
                self.expect(')')?;
            }
            self.takes(',');
        }
        self.expect(';')?;
        Ok(Instance { name, cell: cell.trim_start_matches('\\').to_owned(), pins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r"/* by hand */
module small(a, clk_i, y);
  input [1:0] a;
  wire [1:0] a;
  input clk_i;
  output [2:0] y;
  wire \n.x[3] ;
  NAND2X1 _1_ ( .A(a[0]), .B(\n.x[3] ), .Y(y[0]) );
  INVX1 \u.inv  ( .A(1'h1), .Y(\n.x[3] ) );
  assign y[2:1] = { a[1], 1'h0 };
endmodule
";

    #[test]
    fn nets_are_joined_where_they_are_assigned() {
        let netlist = Netlist::parse(SMALL).expect("a netlist");
        assert_eq!(netlist.module, "small");
        let [a0, a1] = netlist.inputs[0].1[..] else { panic!("two bits") };
        let (name, y) = &netlist.outputs[0];
        assert_eq!((name.as_str(), y[1], y[2]), ("y", ZERO, a1));
        let [nand, inverter] = &netlist.instances[..] else { panic!("two instances") };
        assert_eq!(nand.pins[0], ("A".to_owned(), a0));
        assert_eq!(nand.pins[1].1, inverter.pins[1].1);
        assert_eq!(inverter.pins[0].1, ONE);
        assert_eq!(netlist.nets[inverter.pins[1].1], r"\n.x[3]");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let error =
            |from: &str, to: &str| Netlist::parse(&SMALL.replace(from, to)).expect_err("wrong");
        assert!(error("a[0]", "b").starts_with("line 8: b: expected a declared net"));
        assert!(error("a[0]", "a[7]").contains("no bit 7"));
        assert!(error(".A(a[0])", ".A(a)").contains("expected one bit"));
        assert!(error("endmodule", "").contains("expected endmodule"));
        assert!(error("1'h0", "2'h0").contains("expected 2 bits, found 3"));
        assert!(error("[1:0]", "[99999999:0]").contains("line 3"));
        assert!(error("1'h1", "1'k1").contains("such as 4'ha"));
        assert!(error("{ a[1]", &"{ ".repeat(100_000)).contains("braces in each other"));
    }

    #[test]
    fn constants_have_their_bits() {
        assert_eq!(constant("4'ha"), Some(vec![false, true, false, true]));
        assert_eq!(constant("2'b1x"), Some(vec![false, true]));
        assert_eq!(constant("3'd5"), Some(vec![true, false, true]));
        assert_eq!(constant("99999999'h0"), None);
    }
}
