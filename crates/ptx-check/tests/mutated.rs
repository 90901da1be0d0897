//! Reads, follows and runs texts with changes. Whatever they have become, nothing panics.
// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

use fastrand::Rng;
use ptx_check::flow::analysis::{Secrets, analyse};
use ptx_check::flow::program::Objects;
use ptx_check::flow::ptx::decode_kernel;
use ptx_check::plant::{Plan, search};
use ptx_check::run::{Argument, Array, Launch};
use ptx_check::syntax::{Module, parse};

const TEXTS: &[&str] = &[
    include_str!("data/tag.ptx"),
    include_str!("data/cuda/kernels.ptx"),
    include_str!("data/cuda/features.ptx"),
    include_str!("data/triton/counts.ptx"),
    include_str!("data/triton/product.ptx"),
    include_str!("data/triton/softmax.ptx"),
];

/// Returns the texts, each with at most one kernel.
fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    for text in TEXTS {
        let starts: Vec<usize> = text.match_indices(".visible .entry").map(|(at, _)| at).collect();
        let head = &text[..starts[0]];
        for &start in &starts {
            let end = text[start..].find("\n}\n").unwrap() + start + 3;
            texts.push(format!("{head}{}", &text[start..end]));
        }
        // What comes between the kernels: functions and variables of others.
        texts.push((*text).to_owned());
    }
    texts
}

/// Changes a text in a few places: its bytes, or its words.
fn mutated(text: &str, random: &mut Rng) -> String {
    const MARKS: &[&str] = &[
        "{",
        "}",
        "-1",
        "0x",
        "0f12",
        "%",
        ";",
        "\u{20ac}",
        "99999999999999999999",
        ".v4",
        "(",
        "[",
    ];
    let pieces: Vec<&str> =
        text.split_inclusive([' ', '\t', '\n', ',', '.', '[', '{', '%', '<']).collect();
    let mut changed: Vec<&str> = pieces.clone();
    for _ in 0..random.usize(1..4) {
        let (at, other) = (random.usize(..changed.len()), random.usize(..pieces.len()));
        match random.u8(..7) {
            0 => drop(changed.remove(at)),
            1 => {
                let with = random.usize(..changed.len());
                changed.swap(at, with);
            }
            2 => changed.insert(at, pieces[other]),
            3 => changed[at] = MARKS[random.usize(..MARKS.len())],
            4 if random.u8(..8) == 0 => changed.truncate(at.max(4)),
            _ => changed[at] = pieces[other],
        }
    }
    let changed = changed.concat();
    if random.u8(..4) != 0 || changed.is_empty() {
        return changed;
    }
    let mut bytes = changed.into_bytes();
    let at = random.usize(..bytes.len());
    bytes[at] ^= 1 << random.u8(..7);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs the first kernel of a module on some arrays. Returns whether it ends well.
fn runs(module: &Module<'_>, random: &mut Rng) -> bool {
    let Some(kernel) = module.kernels().next() else { return false };
    let numbers: Vec<u8> = (0..256_u32).flat_map(|i| (i % 16).to_le_bytes()).collect();
    let mut arrays = vec![Array::new(numbers); 8];
    let argument = |(index, parameter): (usize, &ptx_check::syntax::Variable<'_>)| match (
        parameter.length,
        parameter.kind.bytes(),
    ) {
        (Some(1), 8) => Argument::Array(index % 8),
        (Some(1), _) => Argument::Number(40),
        (length, bytes) => Argument::Bytes {
            bytes: vec![0; (length.unwrap_or(0).saturating_mul(bytes) % 4096) as usize],
            addresses: vec![(0, 0)],
        },
    };
    let arguments: Vec<Argument> = kernel.parameters.iter().enumerate().map(argument).collect();
    let launch = Launch {
        grid: [random.u32(1..3), 1, 1],
        block: [random.u32(1..70), 1, 1],
        shared_bytes: random.u32(..2048),
        seed: random.bool().then(|| random.u64(..)),
        most_instructions: 20_000,
        most_bytes: 1 << 26,
        ..Launch::new(module, kernel.name)
    };
    launch.run(&mut arrays, &arguments).is_ok()
}

/// Reads, follows and runs this many changed texts.
fn survive(count: u64) {
    let texts = texts();
    let (mut read, mut followed, mut ended) = (0, 0, 0);
    for seed in 0..count {
        let mut random = Rng::with_seed(seed);
        let text = mutated(&texts[random.usize(..texts.len())], &mut random);
        let Ok(module) = parse(&text) else { continue };
        read += 1;
        for kernel in module.kernels() {
            let _ = module.shared_bytes(kernel);
            let Ok(program) = decode_kernel(&module, kernel) else { continue };
            followed += 1;
            let _ = analyse(&program, Secrets::AllBut(Objects::NONE));
            let _ = analyse(&program, Secrets::Only(Objects::array(0)));
        }
        // Leaks are planted, and nothing is looked for.
        let plan = Plan { takes: &|_| true, seed, most: 1 };
        let _ = search(&text, &module, plan, 9, |_| Ok::<_, ()>(Vec::new()));
        ended += u64::from(runs(&module, &mut random));
    }
    println!("of {count} texts, {read} are PTX, and {ended} run; {followed} kernels are followed");
    assert!([read, followed, ended].iter().all(|&some| some > count / 100));
}

mod changed_texts {
    #[test]
    fn some() {
        super::survive(2000);
    }

    #[test]
    #[ignore = "takes minutes; to be run by hand"]
    fn all() {
        super::survive(100_000);
    }
}

/// Texts of a megabyte, with which steps that take quadratic time would take minutes.
#[test]
fn large_texts() {
    let kernel = |body: &str| format!(".entry k() {{ {body} ret; }}\n");
    let each = |form: &str, count: usize| -> String {
        (0..count).map(|i| form.replace('#', &i.to_string())).collect()
    };
    for text in [
        kernel(&format!(
            ".reg .b32 %r<99999>; {}",
            each("mov.u32 %r#, 0; {.reg .b32 a<2>;}", 25_000)
        )),
        kernel(&each(".reg .b32 %r#x<2>;", 50_000)),
        kernel(&each(".local .b32 s#;", 60_000)),
        each(".global .b32 s# = 1;", 45_000) + &kernel(""),
        each(".func f#();", 70_000) + &kernel(""),
        each(".func f#() {}", 25_000) + &kernel(&each("call f#;", 25_000)),
    ] {
        let start = std::time::Instant::now();
        let module = parse(&text).unwrap();
        let kernel = module.kernels().next().unwrap();
        let _ = module.shared_bytes(kernel);
        let _ = decode_kernel(&module, kernel);
        let seconds = start.elapsed().as_secs();
        assert!(seconds < 20, "{seconds} s: {}", &text[..50]);
        runs(&module, &mut Rng::with_seed(1));
    }
}

/// Cuts a text at each place.
#[test]
fn parts_of_a_text() {
    for end in 0..TEXTS[0].len() {
        for part in [&TEXTS[0][..end], &TEXTS[0][end..]] {
            if let Ok(module) = parse(part) {
                runs(&module, &mut Rng::with_seed(1));
            }
        }
    }
}
