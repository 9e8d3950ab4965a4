// SPDX-License-Identifier: MIT
//! Standard output. A reader that has gone away is no error.

use std::io::{self, ErrorKind, Write};

/// Writes bytes.
pub fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    read_or_gone(out.write_all(bytes).and_then(|()| out.flush()))
}

/// The outcome of a write, without the error of a reader that has gone away.
pub fn read_or_gone(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| match error.kind() {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}
