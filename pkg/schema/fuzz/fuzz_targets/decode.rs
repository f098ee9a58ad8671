//! Decoding never panics, and what it yields encodes to canonical bytes that decode to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::builtin::ALL;
use schema::proto::{decode, encode, is_canonical};

fuzz_target!(|data: &[u8]| {
    let Some((choice, raw)) = data.split_first_chunk::<2>() else { return };
    let message = ALL[usize::from(u16::from_le_bytes(*choice)) % ALL.len()];
    let Ok(tree) = decode(message, raw) else {
        assert!(!is_canonical(message, raw));
        return;
    };
    let mut again = Vec::new();
    if encode(message, &tree, &mut again).is_ok() {
        assert_eq!(is_canonical(message, raw), again == raw);
        assert_eq!(decode(message, &again).as_ref(), Ok(&tree));
    }
});
