use super::Stat;

fn stat(name: &str, state: char, threads: u32) -> Vec<u8> {
    let zeros = "0 ".repeat(27);
    format!("7 ({name}) {state} 1 42 42 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 {threads} 0 9 7 {zeros}5 0\n")
        .into_bytes()
}

#[test]
fn every_field_is_read_whatever_the_program_is_called() {
    for name in ["cat", "a b", "x) R 1 1 (", ""] {
        let expected = Stat {
            state: b'S',
            parent: 1,
            group: 42,
            threads: 3,
            is_kernel: false,
            start: 9,
            has_environment: true,
        };
        assert_eq!(Stat::parse(&stat(name, 'S', 3)), Some(expected), "{name:?}");
    }
}

#[test]
fn only_a_zombie_without_further_threads_is_dead() {
    for (state, threads, alive) in
        [('R', 1, true), ('T', 1, true), ('Z', 1, false), ('X', 0, false), ('Z', 2, true)]
    {
        let stat = Stat::parse(&stat("p", state, threads)).expect("well formed");
        assert_eq!(stat.is_alive(), alive, "{state} {threads}");
    }
}

#[test]
fn a_cut_line_is_no_process() {
    let whole = stat("p", 'S', 1);
    let last = "5 0\n";
    for end in 0..=whole.len() - last.len() {
        assert_eq!(Stat::parse(&whole[..end]), None, "{end} bytes");
    }
}
