//! scratch
use std::collections::BTreeMap;
use xtask::flow::{analysis, sass, program::Objects};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (listing, ptx, arch) = (&a[1], &a[2], &a[3]);
    let t = std::time::Instant::now();
    let text = std::fs::read_to_string(listing).unwrap();
    let entries = sass::entries(&std::fs::read_to_string(ptx).unwrap());
    let programs = sass::decode(&text, &entries, arch);
    eprintln!("decode {:?}", t.elapsed());
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut classes: BTreeMap<String, usize> = BTreeMap::new();
    let (mut ok, mut secret, mut instr) = (0, 0, 0);
    for p in programs {
        match p {
            Err(e) => { if *reasons.entry(e.text.clone()).and_modify(|x| *x += 1).or_insert(1) == 1 { println!("{e}"); } }
            Ok(p) => {
                ok += 1;
                let public = if p.name.starts_with("layer_") { Objects::array(1) } else { Objects::NONE };
                let r = analysis::analyse(&p, public);
                secret += r.secret_stores; instr += r.instructions;
                for f in &r.findings {
                    let n = classes.entry(format!("{} {}", f.class, if p.name.contains("runtime_division") {"div"} else {""})).or_insert(0);
                    *n += 1;
                    if *n < 4 { println!("{f}"); }
                }
            }
        }
    }
    println!("{ok} ok, {instr} instructions, {secret} secret stores, refused {}, findings {classes:?} {:?}", reasons.values().sum::<usize>(), t.elapsed());
}
