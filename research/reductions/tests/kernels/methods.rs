//! Compares the laboratory's kernels with the CPU, for every method and every modulus.

use ctru_gpu_kernels::kernels::row as product_row;
use ctru_math::mul;
use ctru_math::{Arithmetic, Poly, R653, R761, R1277, SmallPoly};
use ctru_simt::descriptor::{Batch, Kernel};
use ctru_simt::emulator::Buffer;
use ctru_simt::simt::{U32x4, Word};
use research_arithmetic::ntt::cyclic::Transform;
use research_arithmetic::reduce::{Montgomery, Packed, ReduceSum, Reducer, Shoup};
use research_reductions::chain::LENGTH;
use research_reductions::cyclic::single::{FACTORS, Layer};
use research_reductions::table::{
    CHAINS, CYCLICS, Chain, ChainVisitor, Cyclic, CyclicVisitor, MIXED, Mixed, RINGS, SINGLES,
    Single, THREADS_RANGE, all, copy_with_threads, visit_chains, visit_cyclics,
};
use research_reductions::{FactorWord, MODULE, every_input};

use crate::device;

/// Returns numbers in `0..modulus`, including the ends of the range.
fn coefficients(modulus: u32, len: usize, seed: u64) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let mut coefficient = || match next() % 8 {
        0 => 0,
        1 => modulus - 1,
        2 => modulus / 2 + next() % 2,
        _ => next() % modulus,
    };
    (0..len).map(|_| coefficient()).collect()
}

fn words<M: Reducer>(factors: &[M::Factor]) -> Buffer
where
    FactorWord<M>: Word,
{
    Buffer::new(&factors.iter().map(|factor| factor.to_word()).collect::<Vec<_>>())
}

// What the visitors call is not generic, so that the compiler translates it once and not for each
// of the methods and moduli.

struct CheckChains;

impl ChainVisitor for CheckChains {
    fn visit<M: Reducer>(&mut self, chain: &'static Chain)
    where
        FactorWord<M>: Word,
    {
        assert_eq!(chain.modulus, M::MODULUS);
        check_chain(chain, |factors| {
            words::<M>(&factors.iter().map(|&w| M::factor(w)).collect::<Vec<_>>())
        });
    }
}

/// Checks the kernel of a chain. `table` makes the array of factors.
fn check_chain(chain: &Chain, table: fn(&[i32]) -> Buffer) {
    let (half, quads) = ((chain.modulus / 2) as i32, 256);
    let values = coefficients(chain.modulus, 4 * quads, 1);
    // The second list consists of the largest factors.
    let random = coefficients(chain.modulus, LENGTH, 2).into_iter().map(|w| w as i32 - half);
    for factors in [random.collect(), vec![-half; LENGTH]] {
        let quad = |x: &[u32]| U32x4([x[0], x[1], x[2], x[3]]);
        let elements = Buffer::new(&values.chunks(4).map(quad).collect::<Vec<_>>());
        let products = Buffer::new(&vec![U32x4::default(); quads]);
        for threads in [THREADS_RANGE.0, 256] {
            let kernel = chain.with_threads(threads).unwrap();
            let batch = Batch::each(quads as u32);
            device::launch(&kernel, &[&table(&factors), &elements, &products], batch);
            let actual: Vec<u32> =
                products.content::<U32x4>().into_iter().flat_map(|quad| quad.0).collect();
            let modulus = i64::from(chain.modulus);
            let multiply = |x: &u32| {
                factors.iter().fold(i64::from(*x), |x, &w| (x * i64::from(w)).rem_euclid(modulus))
                    as u32
            };
            let expected: Vec<u32> = values.iter().map(multiply).collect();
            assert_eq!(actual, expected, "{}", kernel.name());
        }
    }
}

/// Checks a copy whose length is no multiple of a block's.
#[test]
fn copies() {
    let quads: Vec<_> = (0..1000).map(|i| U32x4([i, !i, i << 16, 7])).collect();
    for threads in [THREADS_RANGE.0, 256] {
        let kernel = copy_with_threads(threads).unwrap();
        let whole = quads.len().next_multiple_of(kernel.shape().per_block() as usize);
        let mut padded = quads.clone();
        padded.resize(whole, U32x4::default());
        let copies = Buffer::new(&vec![U32x4([1; 4]); whole]);
        device::launch(&kernel, &[&Buffer::new(&padded), &copies], Batch::each(1000));
        assert_eq!(copies.content::<U32x4>(), padded);
    }
}

#[test]
fn chains() {
    visit_chains(&mut CheckChains);
}

/// Checks the cyclic products of lengths up to `2^max_log`, by one method or by all methods.
struct CheckCyclics {
    method: Option<&'static str>,
    max_log: u32,
    checked: usize,
}

impl CyclicVisitor for CheckCyclics {
    fn visit<M: Reducer, P: ReduceSum>(&mut self, cyclic: &'static Cyclic)
    where
        FactorWord<M>: Word,
    {
        assert_eq!([cyclic.modulus; 2], [M::MODULUS, P::MODULUS]);
        self.check(cyclic, tables::<M, P>);
    }
}

/// Returns the tables of factors of the forward and the inverse layers, and those of the rows.
fn tables<M: Reducer, P: ReduceSum>(cyclic: &Cyclic) -> [Buffer; 3]
where
    FactorWord<M>: Word,
{
    let n = 1 << cyclic.log_len;
    let (mut forward, mut inverse) =
        (vec![M::Factor::default(); n / 2], vec![M::Factor::default(); n]);
    let transform = Transform::<M, P>::new(&mut forward, &mut inverse).unwrap();
    let in_rows: Vec<_> =
        cyclic.forward_factors().map(|entry| transform.forward_factors()[entry]).collect();
    [transform.forward_factors(), transform.inverse_factors(), &in_rows].map(words::<M>)
}

impl CheckCyclics {
    /// Checks the kernels of one length. `tables` makes the arrays of factors.
    fn check(&mut self, cyclic: &Cyclic, tables: fn(&Cyclic) -> [Buffer; 3]) {
        // The emulator takes seconds for a long product. So it computes only those with the largest
        // modulus, and the only one of the method `float`.
        let is_costly = device::IS_EMULATED && cyclic.log_len > 14;
        let is_chosen = !is_costly || cyclic.modulus == 469_762_049 || cyclic.method == "float";
        let is_method = self.method.is_none_or(|method| method == cyclic.method);
        if !is_chosen || !is_method || cyclic.log_len > self.max_log {
            return;
        }
        self.checked += 1;
        // The rows of four products are interleaved. Those of one product
        // are not.
        let (n, count) = (1usize << cyclic.log_len, if is_costly { 1 } else { 4 });
        let mut operands = coefficients(cyclic.modulus, 2 * count * n, 3);
        // Every coefficient of the last product's first operand has the largest value.
        operands[(count - 1) * n..count * n].fill(cyclic.modulus - 1);
        let actual = on_device(cyclic, &tables(cyclic), &operands, count);
        for product in 0..count {
            let [a, b] = [0, count].map(|first| &operands[(first + product) * n..][..n]);
            let expected = on_cpu(cyclic.modulus, a, b);
            assert_eq!(actual[product * n..][..n], expected, "{}", cyclic.rows.name());
        }
    }
}

/// Returns the products that the kernels compute.
fn on_device(
    cyclic: &Cyclic,
    [forward, inverse, in_rows]: &[Buffer; 3],
    operands: &[u32],
    count: usize,
) -> Vec<u32> {
    let n = 1 << cyclic.log_len;
    let operands = Buffer::new(operands);
    let products = Buffer::new(&vec![0u32; count * n]);
    let launch = |kernel: &Kernel, buffers: &[&Buffer], operations: usize| {
        device::launch(kernel, buffers, Batch::each(operations as u32));
    };
    match &cyclic.columns {
        None => launch(&cyclic.rows, &[in_rows, inverse, &operands, &products], count * n / 8),
        Some(columns) => {
            let transforms = Buffer::new(&vec![0u32; 2 * count * n]);
            launch(&columns.forward, &[forward, &operands, &transforms], 2 * count * n / 16);
            launch(&cyclic.rows, &[in_rows, inverse, &transforms, &products], count * n / 8);
            launch(&columns.inverse, &[inverse, &products], count * n / 16);
        }
    }
    products.content()
}

/// Checks the kernels of two passes at once: each pass works on a batch of its own.
struct CheckMixed;

impl CyclicVisitor for CheckMixed {
    fn visit<M: Reducer, P: ReduceSum>(&mut self, cyclic: &'static Cyclic)
    where
        FactorWord<M>: Word,
    {
        let is_of_cyclic =
            |mixed: &&Mixed| mixed.is_for(cyclic.method, cyclic.modulus, 1 << cyclic.log_len);
        let Some(mixed) = MIXED.iter().find(is_of_cyclic) else { return };
        if !device::IS_EMULATED || mixed.modulus == 469_762_049 {
            check_mixed(mixed, cyclic, &tables::<M, P>(cyclic));
        }
    }
}

fn check_mixed(mixed: &Mixed, cyclic: &Cyclic, [forward, inverse, in_rows]: &[Buffer; 3]) {
    let columns = cyclic.columns.as_ref().expect("kernels for columns");
    // The rows of four products are interleaved. Those of one product are not.
    let (n, count) = (1 << mixed.log_len, if device::IS_EMULATED { 1 } else { 4 });
    let launch = |kernel: &Kernel, buffers: &[&Buffer], operations: usize| {
        device::launch(kernel, buffers, Batch::each(operations as u32));
    };
    let operands = [7, 8].map(|seed| coefficients(mixed.modulus, 2 * count * n, seed));
    let polynomials = operands.each_ref().map(|operands| Buffer::new(operands));
    let transforms = [(); 2].map(|()| Buffer::new(&vec![0u32; 2 * count * n]));
    let products = [(); 2].map(|()| Buffer::new(&vec![0u32; count * n]));
    launch(&columns.forward, &[forward, &polynomials[0], &transforms[0]], 2 * count * n / 16);
    let arrays =
        [forward, &polynomials[1], &transforms[1], in_rows, inverse, &transforms[0], &products[0]];
    launch(&mixed.forward_and_multiply, &arrays, count * n / 4);
    let arrays = [in_rows, inverse, &transforms[1], &products[1], inverse, &products[0]];
    launch(&mixed.multiply_and_inverse, &arrays, 3 * count * n / 16);
    launch(&columns.inverse, &[inverse, &products[1]], count * n / 16);
    for (operands, products) in operands.iter().zip(&products) {
        let products: Vec<u32> = products.content();
        for (product, actual) in products.chunks(n).enumerate() {
            let [a, b] = [0, count].map(|first| &operands[(first + product) * n..][..n]);
            assert_eq!(
                actual,
                on_cpu(mixed.modulus, a, b),
                "{}",
                mixed.forward_and_multiply.name()
            );
        }
    }
}

#[test]
fn two_passes_at_once() {
    visit_cyclics(&mut CheckMixed);
}

/// Returns the product that the CPU computes by one method for each modulus. The tests of
/// `ctru-math` compare it with all other methods and with the schoolbook method.
fn on_cpu(modulus: u32, a: &[u32], b: &[u32]) -> Vec<u32> {
    match modulus {
        7_340_033 => by_shoup::<7_340_033>(a, b),
        104_857_601 => by_shoup::<104_857_601>(a, b),
        469_762_049 => by_shoup::<469_762_049>(a, b),
        _ => panic!("no transforms modulo {modulus}"),
    }
}

fn by_shoup<const Q: u32>(a: &[u32], b: &[u32]) -> Vec<u32> {
    type Factor<const Q: u32> = <Shoup<Q> as Reducer>::Factor;
    let n = a.len();
    let (mut forward, mut inverse) =
        (vec![Factor::<Q>::default(); n / 2], vec![Factor::<Q>::default(); n]);
    let transform = Transform::<Shoup<Q>, Montgomery<Q>>::new(&mut forward, &mut inverse).unwrap();
    let [mut a, mut b] = [a, b].map(|x| x.iter().map(|&x| x as i32).collect::<Vec<_>>());
    transform.multiply(&mut a, &mut b).unwrap();
    b.iter().map(|&x| x as u32).collect()
}

fn check_cyclics(method: Option<&'static str>, max_log: u32) {
    let mut check = CheckCyclics { method, max_log, checked: 0 };
    visit_cyclics(&mut check);
    assert_ne!(check.checked, 0);
}

#[test]
fn short_cyclic_products() {
    check_cyclics(None, 14);
}

/// Defines one test per method, so that they run in parallel on the emulator.
macro_rules! long_products {
    ($($method:ident)*) => {$(
        #[test]
        fn $method() {
            check_cyclics(Some(stringify!($method)), 17);
        }
    )*};
}

long_products! {
    runtime_division constant_division barrett montgomery shoup rounding_shoup plantard proth float
}

/// Checks the kernels that compute a product layer by layer.
struct CheckSingles;

impl CyclicVisitor for CheckSingles {
    fn visit<M: Reducer, P: ReduceSum>(&mut self, cyclic: &'static Cyclic)
    where
        FactorWord<M>: Word,
    {
        let found =
            |single: &&Single| (single.method, single.modulus) == (cyclic.method, cyclic.modulus);
        let Some(single) = SINGLES.iter().find(found) else { return };
        check_single(single, |log_len| {
            let n = 1 << log_len;
            let (mut forward, mut inverse) =
                (vec![M::Factor::default(); n / 2], vec![M::Factor::default(); n]);
            let transform = Transform::<M, P>::new(&mut forward, &mut inverse).unwrap();
            [transform.forward_factors(), transform.inverse_factors()].map(|factors| {
                let mut table = factors.to_vec();
                table.resize(FACTORS as usize, M::Factor::default());
                words::<M>(&table)
            })
        });
    }
}

/// Checks the kernels of single layers by one method. `tables` makes the arrays of factors for
/// `2^log_len` coefficients.
fn check_single(single: &Single, tables: fn(u32) -> [Buffer; 2]) {
    // These kernels take every length. The emulator would take seconds for a long one.
    let log_len = 10;
    let n = 1usize << log_len;
    let [forward, inverse] = tables(log_len);
    let operands = coefficients(single.modulus, 2 * n, 4);
    let polynomials = Buffer::new(&operands);
    let layer = |log_half: u32| {
        let is_outermost = log_half == log_len - 1;
        Buffer::new(&Layer { log_half, log_len, is_outermost }.to_words())
    };
    for log_half in (0..log_len).rev() {
        device::launch(
            &single.forward,
            &[&forward, &layer(log_half), &polynomials],
            Batch::each(n as u32),
        );
    }
    device::launch(&single.values, &[&polynomials], Batch::each(n as u32));
    let product = Buffer::new(&polynomials.content::<u32>()[..n]);
    for log_half in 0..log_len {
        device::launch(
            &single.inverse,
            &[&inverse, &layer(log_half), &product],
            Batch::each(n as u32 / 2),
        );
    }
    let expected = on_cpu(single.modulus, &operands[..n], &operands[n..]);
    assert_eq!(product.content::<u32>(), expected, "{} modulo {}", single.method, single.modulus);
}

#[test]
fn products_layer_by_layer() {
    visit_cyclics(&mut CheckSingles);
}

fn check_ring<R: Arithmetic>() {
    let row = product_row::<R>() as usize;
    let large = coefficients(R::Q, 2 * row, 5);
    let eta = R::ETA as i32;
    let small: Vec<i32> =
        coefficients(2 * R::ETA + 1, 2 * row, 6).iter().map(|&x| x as i32 - eta).collect();
    let arrays = [
        Buffer::new(&large.iter().map(|&x| x as u16).collect::<Vec<_>>()),
        Buffer::new(&small.iter().map(|&x| x as i8 as u8).collect::<Vec<_>>()),
        Buffer::new(&vec![0u16; 2 * row]),
    ];
    let kernels: Vec<_> = RINGS.iter().filter(|ring| ring.n == R::N).collect();
    assert_eq!(kernels.len(), 2);
    for ring in kernels {
        device::launch(&ring.kernel, &arrays.each_ref(), Batch::each(2));
        for operation in 0..2 {
            let part = operation * row..operation * row + R::N;
            let a: Vec<u16> = large[part.clone()].iter().map(|&x| x as u16).collect();
            let b: Vec<i8> = small[part.clone()].iter().map(|&x| x as i8).collect();
            let (a, b) = (
                Poly::<R>::from_coefficients(&a).unwrap(),
                SmallPoly::from_coefficients(&b).unwrap(),
            );
            let expected = mul::mul_small(&a, &b);
            assert_eq!(
                arrays[2].content::<u16>()[part],
                *expected.coefficients(),
                "{}",
                ring.kernel.name()
            );
        }
    }
}

#[test]
fn ring_products_by_both_arithmetics() {
    check_ring::<R653>();
    check_ring::<R761>();
    check_ring::<R1277>();
}

#[test]
fn the_tables_have_every_method() {
    let methods =
        |names: Vec<&'static str>| names.into_iter().collect::<std::collections::BTreeSet<_>>();
    let chains = methods(CHAINS.iter().map(|chain| chain.method).collect());
    let cyclics = methods(CYCLICS.iter().map(|cyclic| cyclic.method).collect());
    assert_eq!((chains.len(), cyclics.len()), (12, 9));
}

#[test]
fn every_kernel_is_an_entry_point_and_every_entry_point_a_kernel() {
    let entry = |line: &'static str| line.strip_prefix(".visible .entry ")?.strip_suffix('(');
    let names = |names: &mut dyn Iterator<Item = &'static str>| {
        names.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(
        names(&mut MODULE.text().lines().filter_map(entry)),
        names(&mut all().chain(every_input::ALL.iter().copied()).map(|kernel| kernel.name()))
    );
}
