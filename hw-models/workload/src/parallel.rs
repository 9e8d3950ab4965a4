// SPDX-License-Identifier: MIT
//! Work on the host's own threads.

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does the work of all items on so many threads, those of the largest `weight` first; of equal ones, in their
/// order. Returns the results in the order of the items, so that they do not depend on the threads.
/// `progress` receives the weight that is done, and of all.
///
/// After an error nothing more is begun; the first item's that failed is returned.
pub fn map<T: Sync, R: Send, E: Send>(
    items: &[T],
    threads: usize,
    weight: impl Fn(&T) -> u64,
    work: impl Fn(&T) -> Result<R, E> + Sync,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Vec<R>, E> {
    let mut order: Vec<(u64, usize)> =
        items.iter().enumerate().map(|(n, item)| (weight(item), n)).collect();
    order.sort_by_key(|&(weight, n)| (u64::MAX - weight, n));
    let all = order.iter().map(|(weight, _)| weight).sum();

    let next = AtomicUsize::new(0);
    let done = Mutex::new(0);
    let results: Vec<Mutex<Option<Result<R, E>>>> =
        items.iter().map(|_| Mutex::default()).collect();
    let of_a_thread = || {
        while let Some(&(weight, n)) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = work(&items[n]);
            if result.is_err() {
                next.store(order.len(), Ordering::Relaxed);
            }
            *results[n].lock().expect("nobody panics with it") = Some(result);
            let mut done = done.lock().expect("nobody panics with it");
            *done += weight;
            progress(*done, all);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.clamp(1, items.len().max(1)) {
            scope.spawn(of_a_thread);
        }
        of_a_thread();
    });
    // Where an item failed, others may not have been begun: the error is among those that were.
    let results = results.into_iter().filter_map(|result| result.into_inner().expect("as above"));
    results.collect()
}

/// The same of work that cannot fail, of items that weigh the same and that nobody waits for.
pub fn each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let done = map(items, threads, |_| 1, |item| Ok::<_, Infallible>(work(item)), |_, _| {});
    let Ok(done) = done;
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_whatever_the_threads() {
        let items: Vec<u64> = (0..100).map(|n| n * 37 % 11).collect();
        for threads in [1, 2, 7, 1000] {
            let seen = Mutex::new(Vec::new());
            let results = map(
                &items,
                threads,
                |&item| item,
                |&item| Ok::<_, ()>(2 * item),
                |done, all| seen.lock().expect("no panic").push((done, all)),
            );
            assert_eq!(results, Ok(items.iter().map(|item| 2 * item).collect()));
            let (seen, all) = (seen.into_inner().expect("no panic"), items.iter().sum());
            assert_eq!(seen.last(), Some(&(all, all)));
            assert!(seen.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        }
    }

    #[test]
    fn each_is_done_once_in_its_place() {
        let items: Vec<u64> = (0..50).collect();
        for threads in [1, 3, 64] {
            assert_eq!(
                each(&items, threads, |item| item * item),
                items.iter().map(|n| n * n).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn the_heaviest_come_first_and_an_error_ends_it() {
        let began = Mutex::new(Vec::new());
        let work = |&item: &u64| {
            began.lock().expect("no panic").push(item);
            if item == 3 { Err(item) } else { Ok(item) }
        };
        assert_eq!(map(&[1, 4, 3, 5, 2], 1, |&item| item, work, |_, _| {}), Err(3));
        assert_eq!(began.into_inner().expect("no panic"), [5, 4, 3]);
        let none = map(&[], 4, |_: &u64| 0, |&item| Ok::<_, ()>(item), |_, _| {});
        assert_eq!(none, Ok(vec![]));
    }
}
