// SPDX-License-Identifier: MIT
//! What the crate `tokenizers` cannot read or run it mostly returns an error for, and sometimes panics at: a special
//! token of a template that is not in its list, for one. Here both are errors, and nothing is printed.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What `work` returns, or the words of its panic. What it was working on must not be used behind that.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            if !QUIET.get() {
                before(about);
            }
        }));
    });
    let was_quiet = QUIET.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(was_quiet);
    done.map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        words.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded(|| 3), Ok(3));
        let list: [u8; 0] = [];
        let index = list.len();
        assert!(guarded(|| list[index]).is_err_and(|words| words.contains("out of bounds")));
        assert_eq!(guarded(|| -> u8 { panic!("no {}", "entry") }), Err("no entry".to_owned()));
        assert!(!QUIET.get());
    }
}
