// SPDX-License-Identifier: MIT
//! Files of traces, by their first line:
//!
//! | format | first line |
//! | --- | --- |
//! | Vidur, which is also the one that is written | `arrived_at,num_prefill_tokens,num_decode_tokens` |
//! | Azure 2023 | `TIMESTAMP,ContextTokens,GeneratedTokens` |
//! | Mooncake, as columns | `timestamp_ms,input_length,output_length` |
//! | splitwise-sim | `request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size` |
//! | BurstGPT | `Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type` |
//! | Mooncake | JSON Lines with `timestamp`, `input_length`, `output_length`; hashes are ignored |
//! | LLMServingSim | JSON Lines with `input_toks`, `output_toks`, `arrival_time_ns` |
//!
//! Times become relative to the first request. BurstGPT's failed requests, with 0 response tokens, are left out. A line that
//! lacks a field, has a length of 0 or more than [`MOST_TOKENS`] tokens, or goes back in time is an error.

use super::{MOST_REQUESTS, MOST_TOKENS, Request, Trace};
use crate::error::ServingError;
use crate::time::{NANOSECOND, SECOND};
use serde_json::Value;

/// How a time is written.
#[derive(Clone, Copy)]
enum Clock {
    Seconds,
    Milliseconds,
    Nanoseconds,
    /// `2023-11-16 18:17:03.9799600`.
    Date,
}

/// A format: the names of time, prompt and output, and how the time is written.
struct Format {
    fields: [&'static str; 3],
    clock: Clock,
    /// Whether requests that made nothing are left out.
    leaves_out: bool,
}

const COLUMNS: [Format; 5] = [
    Format {
        fields: ["arrived_at", "num_prefill_tokens", "num_decode_tokens"],
        clock: Clock::Seconds,
        leaves_out: false,
    },
    Format {
        fields: ["TIMESTAMP", "ContextTokens", "GeneratedTokens"],
        clock: Clock::Date,
        leaves_out: false,
    },
    Format {
        fields: ["timestamp_ms", "input_length", "output_length"],
        clock: Clock::Milliseconds,
        leaves_out: false,
    },
    Format {
        fields: ["arrival_timestamp", "prompt_size", "token_size"],
        clock: Clock::Seconds,
        leaves_out: false,
    },
    Format {
        fields: ["Timestamp", "Request tokens", "Response tokens"],
        clock: Clock::Seconds,
        leaves_out: true,
    },
];

const OBJECTS: [Format; 2] = [
    Format {
        fields: ["timestamp", "input_length", "output_length"],
        clock: Clock::Milliseconds,
        leaves_out: false,
    },
    Format {
        fields: ["arrival_time_ns", "input_toks", "output_toks"],
        clock: Clock::Nanoseconds,
        leaves_out: false,
    },
];

/// A reader of one file.
struct Reader<'a> {
    file: &'a str,
    line: usize,
    format: &'a Format,
    /// Time of the first request, and of the last.
    first: Option<u128>,
    last: u128,
    requests: Vec<Request>,
}

/// Reads a trace; `file` is its name in errors.
pub fn read(name: &str, file: &str, text: &str) -> Result<Trace, ServingError> {
    let wrong =
        |line: usize, what: String| ServingError::Trace { file: file.to_owned(), line, what };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let head = text.lines().next().unwrap_or_default().trim();
    let requests = if head.starts_with('{') {
        let object: Value =
            serde_json::from_str(head).map_err(|e| wrong(1, format!("no JSON object: {e}")))?;
        let is = |format: &&Format| format.fields.iter().all(|field| object.get(field).is_some());
        let format = OBJECTS.iter().find(is).ok_or_else(|| {
            let known = OBJECTS.map(|format| format.fields.join(", ")).join("; ");
            wrong(1, format!("an object of no known trace: expected the fields {known}"))
        })?;
        Reader::new(file, format).objects(text)?
    } else {
        let columns: Vec<&str> = head.split(',').map(str::trim).collect();
        let is = |format: &&Format| format.fields.iter().all(|field| columns.contains(field));
        let format = COLUMNS.iter().find(is).ok_or_else(|| {
            let known = COLUMNS.map(|format| format.fields.join(",")).join("; ");
            wrong(1, format!("a header of no known trace: expected the columns {known}"))
        })?;
        Reader::new(file, format).rows(text, &columns)?
    };
    if requests.is_empty() {
        return Err(wrong(1, "no request".to_owned()));
    }
    Ok(Trace { name: name.to_owned(), requests })
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, format: &'a Format) -> Self {
        Self { file, line: 0, format, first: None, last: 0, requests: Vec::new() }
    }

    fn wrong(&self, what: impl Into<String>) -> ServingError {
        ServingError::Trace { file: self.file.to_owned(), line: self.line, what: what.into() }
    }

    fn rows(mut self, text: &str, columns: &[&str]) -> Result<Vec<Request>, ServingError> {
        let places = self.format.fields.map(|field| {
            columns.iter().position(|column| *column == field).expect("the format was found by it")
        });
        for (number, line) in text.lines().enumerate().skip(1) {
            self.line = number + 1;
            if line.trim().is_empty() {
                continue;
            }
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let mut found = [""; 3];
            for ((found, place), field) in found.iter_mut().zip(places).zip(self.format.fields) {
                let cell = cells.get(place).filter(|cell| !cell.is_empty());
                *found = cell.ok_or_else(|| self.wrong(format!("{field}: not there")))?;
            }
            self.request(found)?;
        }
        Ok(self.requests)
    }

    fn objects(mut self, text: &str) -> Result<Vec<Request>, ServingError> {
        for (number, line) in text.lines().enumerate() {
            self.line = number + 1;
            if line.trim().is_empty() {
                continue;
            }
            let object: Value = serde_json::from_str(line)
                .map_err(|error| self.wrong(format!("no JSON object: {error}")))?;
            let mut found: [String; 3] = Default::default();
            for (found, field) in found.iter_mut().zip(self.format.fields) {
                let value = object.get(field).filter(|value| value.is_number());
                let value = value.ok_or_else(|| self.wrong(format!("{field}: no number")))?;
                *found = value.to_string();
            }
            self.request([&found[0], &found[1], &found[2]])?;
        }
        Ok(self.requests)
    }

    fn request(&mut self, [time, input, output]: [&str; 3]) -> Result<(), ServingError> {
        let [of_time, of_input, of_output] = self.format.fields;
        let at = self.format.clock.ps(time).ok_or_else(|| {
            self.wrong(format!("{of_time}: {time}: expected {}", self.format.clock.expected()))
        })?;
        let tokens = |field: &str, text: &str| {
            let tokens = text.parse::<u64>().ok().filter(|tokens| *tokens <= MOST_TOKENS);
            let expected = format!("{field}: {text}: expected 1 to {MOST_TOKENS} tokens");
            tokens.ok_or_else(|| self.wrong(expected))
        };
        let (input, output) = (tokens(of_input, input)?, tokens(of_output, output)?);
        if output == 0 && self.format.leaves_out {
            return Ok(());
        }
        for (field, tokens) in [(of_input, input), (of_output, output)] {
            if tokens == 0 {
                return Err(self.wrong(format!("{field}: 0: expected 1 to {MOST_TOKENS} tokens")));
            }
        }
        if input + output > MOST_TOKENS {
            let sum = input + output;
            let what =
                format!("{of_input} + {of_output}: {sum}: expected {MOST_TOKENS} at the most");
            return Err(self.wrong(what));
        }
        let first = *self.first.get_or_insert(at);
        if at < self.last.max(first) {
            return Err(self.wrong(format!("{of_time}: {time}: before the request above")));
        }
        if self.requests.len() == MOST_REQUESTS {
            return Err(self.wrong(format!("more than {MOST_REQUESTS} requests")));
        }
        let arrival_ps = u64::try_from(at - first).ok().filter(|ps| *ps <= u64::MAX / 4);
        let arrival_ps = arrival_ps
            .ok_or_else(|| self.wrong(format!("{of_time}: {time}: 50 days behind the first")))?;
        self.last = at;
        self.requests.push(Request { arrival_ps, input, output });
        Ok(())
    }
}

impl Clock {
    fn expected(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Nanoseconds => "nanoseconds",
            Self::Date => "a time as 2023-11-16 18:17:03.979",
        }
    }

    /// A time in picoseconds.
    fn ps(self, text: &str) -> Option<u128> {
        match self {
            Self::Seconds => decimal(text, SECOND),
            Self::Milliseconds => decimal(text, SECOND / 1000),
            Self::Nanoseconds => decimal(text, NANOSECOND),
            Self::Date => date(text),
        }
    }
}

/// A number without a sign, with a point or an exponent or not, times a unit: exact, but for what is below a picosecond.
fn decimal(text: &str, unit: u64) -> Option<u128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_number = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    let digits = whole.len() + part.len();
    if digits == 0 || digits > 30 || !is_number(whole) || !is_number(part) {
        return None;
    }
    let value: u128 = format!("{whole}{part}").parse().ok()?;
    let scale = exponent - part.len() as i32;
    let value = value.checked_mul(u128::from(unit));
    let power = 10u128.checked_pow(scale.unsigned_abs());
    match scale {
        0.. => value?.checked_mul(power?),
        _ => Some(power.map_or(0, |power| value.unwrap_or(0) / power)),
    }
}

/// `2023-11-16 18:17:03.9799600`, from the year 2000 on.
fn date(text: &str) -> Option<u128> {
    let (day, time) = text.split_once([' ', 'T'])?;
    let mut parts = day.split('-').map(|part| part.parse::<u64>().ok());
    let mut next = || parts.next().flatten();
    let (year, month, day) = (next()?, next()?, next()?);
    if !(2000..=2099).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let is_leap = |year: u64| year.is_multiple_of(4);
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before: u64 = (2000..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    let days = before + lengths[..month as usize - 1].iter().sum::<u64>() + day - 1;
    let mut parts = time.split(':');
    let (hour, minute) = (parts.next()?.parse::<u64>().ok()?, parts.next()?.parse::<u64>().ok()?);
    let seconds = parts.next()?.trim_end_matches('Z');
    if hour > 23 || minute > 59 || parts.next().is_some() {
        return None;
    }
    let of_minute = decimal(seconds, SECOND).filter(|ps| *ps < u128::from(61 * SECOND))?;
    let minutes = (days * 24 + hour) * 60 + minute;
    Some(u128::from(60 * minutes) * u128::from(SECOND) + of_minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(text: &str) -> Vec<(u64, u64, u64)> {
        let trace = read("t", "t.csv", text).expect("a trace");
        let tuple = |request: &Request| (request.arrival_ps, request.input, request.output);
        trace.requests.iter().map(tuple).collect()
    }

    fn refused(text: &str) -> String {
        read("t", "t.csv", text).expect_err("it is wrong").to_string()
    }

    const S: u64 = SECOND;
    const LONG: u128 = SECOND as u128;

    #[test]
    fn every_format_is_read() {
        for (text, expected) in [
            (
                "arrived_at,num_prefill_tokens,num_decode_tokens\n1.5,10,20\n2.25,30,40\n",
                vec![(0, 10, 20), (3 * S / 4, 30, 40)],
            ),
            (
                "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319600,3180,8",
                vec![(0, 4808, 10), (52 * S / 1000, 3180, 8)],
            ),
            (
                "timestamp_ms,input_length,output_length\n0,6758,500\n3000,7322,490\n",
                vec![(0, 6758, 500), (3 * S, 7322, 490)],
            ),
            (
                "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n0,0,0,0.1,1,100,3\n1,0,0,1e-1,1,200,4",
                vec![(0, 100, 3), (0, 200, 4)],
            ),
            (
                "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,1,2,ChatGPT,472,18,490,x\n7,1,2,ChatGPT,9,0,9,x\n45,1,2,GPT-4,1087,230,1317,x",
                vec![(0, 472, 18), (40 * S, 1087, 230)],
            ),
            (
                "{\"timestamp\": 27482, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": [46, 47]}\n{\"timestamp\": 30535, \"input_length\": 1, \"output_length\": 2, \"hash_ids\": []}",
                vec![(0, 6955, 52), (3053 * S / 1000, 1, 2)],
            ),
            (
                "{\"input_toks\": 14, \"output_toks\": 100, \"arrival_time_ns\": 0}\n{\"input_toks\": 8, \"output_toks\": 9, \"arrival_time_ns\": 1500}",
                vec![(0, 14, 100), (1500 * NANOSECOND, 8, 9)],
            ),
        ] {
            assert_eq!(requests(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_field() {
        let vidur = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
        for (rows, expected) in [
            ("1,10\n", "t.csv:2: num_decode_tokens: not there"),
            ("1,10,20\n0.5,10,20\n", "t.csv:3: arrived_at: 0.5: before the request above"),
            ("1,0,20\n", "t.csv:2: num_prefill_tokens: 0: expected 1 to 131072 tokens"),
            ("1,10,0\n", "t.csv:2: num_decode_tokens: 0: expected 1 to 131072 tokens"),
            ("1,-3,1\n", "t.csv:2: num_prefill_tokens: -3: expected 1 to 131072 tokens"),
            ("x,1,1\n", "t.csv:2: arrived_at: x: expected seconds"),
            ("nan,1,1\n", "t.csv:2: arrived_at: nan: expected seconds"),
            ("-1,1,1\n", "t.csv:2: arrived_at: -1: expected seconds"),
            ("1e99,1,1\n", "t.csv:2: arrived_at: 1e99: expected seconds"),
            ("0,1,1\n1e9,1,1\n", "t.csv:3: arrived_at: 1e9: 50 days behind the first"),
            (
                "0,131072,1\n",
                "t.csv:2: num_prefill_tokens + num_decode_tokens: 131073: expected 131072 at the most",
            ),
            (
                "0,99999999999999999999,1\n",
                "t.csv:2: num_prefill_tokens: 99999999999999999999: expected 1 to 131072 tokens",
            ),
        ] {
            assert_eq!(refused(&format!("{vidur}{rows}")), expected);
        }
        assert!(refused("").starts_with("t.csv:1: a header of no known trace"));
        assert!(refused("a,b\n1,2\n").starts_with("t.csv:1: a header of no known trace"));
        assert!(refused("{\"a\": 1}").starts_with("t.csv:1: an object of no known trace"));
        assert!(refused("{\"a\": ").starts_with("t.csv:1: no JSON object"));
        assert_eq!(refused(vidur), "t.csv:1: no request");
        let lines = "{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 3}\n{\"timestamp\": \"x\", \"input_length\": 2, \"output_length\": 3}";
        assert_eq!(refused(lines), "t.csv:2: timestamp: no number");
    }

    #[test]
    fn times_are_exact() {
        assert_eq!(decimal("0.000000000001", S), Some(1));
        assert_eq!(decimal("12.5", S), Some(25 * LONG / 2));
        assert_eq!(decimal(".5", S), Some(LONG / 2));
        assert_eq!(decimal("1e-40", S), Some(0));
        for wrong in ["", ".", "1.2.3", "+1", "1e", "0x10", "99999999999999999999999999999999"] {
            assert_eq!(decimal(wrong, S), None, "{wrong}");
        }
        let day = |text| date(text).expect("a date");
        assert_eq!(day("2001-01-01 00:00:00") - day("2000-12-31 23:59:59.5"), LONG / 2);
        assert_eq!(day("2024-03-01T00:00:00Z") - day("2024-02-28T00:00:00Z"), 2 * 86_400 * LONG);
        assert_eq!(date("2024-13-01 00:00:00"), None);
        assert_eq!(date("1999-01-01 00:00:00"), None);
    }
}
