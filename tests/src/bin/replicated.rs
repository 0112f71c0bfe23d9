//! `ptc start --http` as two replicas that are killed now and then: see `ptc_tests::replicated`.

fn main() -> std::process::ExitCode {
    ptc_tests::replicated::main(std::env::args().skip(1).collect())
}
