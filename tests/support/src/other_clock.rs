//! Processes whose clock is another one: run with the library of libfaketime, where that is installed.

use std::path::PathBuf;

/// The variables of a process whose clock is so many seconds ahead; `None` where there is no libfaketime, unless `PTC_TEST_FAKETIME` is
/// `required`. Only the time of day is another one: what measures time goes on as it does elsewhere.
pub fn ahead(seconds: u32) -> Option<[(&'static str, String); 3]> {
    let found = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let folders = found.chain([PathBuf::from("/usr/lib"), PathBuf::from("/usr/local/lib")]);
    let library = folders.map(|folder| folder.join("faketime/libfaketime.so.1")).find(|path| path.exists());
    let Some(library) = library else {
        let is_required = std::env::var("PTC_TEST_FAKETIME").is_ok_and(|wanted| wanted == "required");
        assert!(!is_required, "there is no libfaketime");
        return None;
    };
    Some([
        ("LD_PRELOAD", library.to_str()?.to_owned()),
        ("FAKETIME", format!("+{seconds}s")),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ])
}
