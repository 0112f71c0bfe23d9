//! Several servers on one store, behind a balancer that knows nothing of what it carries; and one server on a folder
//! (state.md 5 and 8). Where there is no `redis-server` only the folder is tested, unless `PTC_TEST_REDIS` is `required`.

mod answered;
mod client;
mod clocks;
mod folder;
mod kept;
mod killed;
mod listening;
mod many;
mod pages;
mod programs;
mod reloaded;
mod runs;
mod sessions;
mod settled;
mod shared;
mod spent;
mod tasks;
