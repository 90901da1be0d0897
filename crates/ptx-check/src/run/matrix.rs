//! Products of matrices, which the threads of a warp compute together.

/// A product `d = a b + c` of 16 rows and 8 columns. Each thread of the warp holds some elements,
/// as "PTX ISA" says under "Matrix Fragments".
#[derive(Debug)]
pub(super) struct Product {
    d: Vec<usize>,
    a: Vec<usize>,
    b: Vec<usize>,
    c: Vec<usize>,
    /// The number of columns of `a`.
    depth: usize,
    kind: Elements,
}

/// The elements of `a` and `b`. The elements of `c` have 32 bits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Elements {
    Signed,
    Unsigned,
    Bfloat,
}

impl Elements {
    const fn per_register(self) -> usize {
        match self {
            Self::Signed | Self::Unsigned => 4,
            Self::Bfloat => 2,
        }
    }
}

/// The value of a register in each lane.
type Lanes = [u64; 32];

impl Product {
    pub(super) fn new(shape: &str, kinds: &[&str], [d, a, b, c]: [Vec<usize>; 4]) -> Option<Self> {
        let (depth, kind) = match (shape, kinds) {
            ("m16n8k16", ["s32", "s8", "s8", "s32"]) => (16, Elements::Signed),
            ("m16n8k32", ["s32", "s8", "s8", "s32"]) => (32, Elements::Signed),
            ("m16n8k16", ["s32", "u8", "u8", "s32"]) => (16, Elements::Unsigned),
            ("m16n8k32", ["s32", "u8", "u8", "s32"]) => (32, Elements::Unsigned),
            ("m16n8k16", ["f32", "bf16", "bf16", "f32"]) => (16, Elements::Bfloat),
            _ => return None,
        };
        let registers = 16 * depth / 32 / kind.per_register();
        let is_right = [d.len(), a.len(), b.len(), c.len()] == [4, registers, registers / 2, 4];
        is_right.then_some(Self { d, a, b, c, depth, kind })
    }

    /// Computes the product in the registers of a warp.
    pub(super) fn multiply(&self, registers: &mut [Lanes]) {
        let (mut a, mut b) = ([[0.0; 32]; 16], [[0.0; 8]; 32]);
        let per = self.kind.per_register();
        let places = || (0..32).map(|lane: usize| (lane, lane / 4, lane % 4));
        for (lane, group, place) in places() {
            for (number, &register) in self.a.iter().enumerate() {
                // Registers alternate between rows 0 to 7 and rows 8 to 15.
                let (row, first) = (group + 8 * (number % 2), number / 2 * 4 * per);
                for i in 0..per {
                    a[row][first + place * per + i] = self.element(registers[register][lane], i);
                }
            }
            for (number, &register) in self.b.iter().enumerate() {
                for i in 0..per {
                    b[number * 4 * per + place * per + i][group] =
                        self.element(registers[register][lane], i);
                }
            }
        }
        for (lane, group, place) in places() {
            let sums: [u64; 4] = std::array::from_fn(|i| {
                let (row, column) = (group + 8 * (i / 2), place * 2 + i % 2);
                // Sums of products of 8 or 16 bits are exact in this type.
                let sum: f64 = (0..self.depth).map(|k| a[row][k] * b[k][column]).sum();
                let old = registers[self.c[i]][lane] as u32;
                match self.kind {
                    Elements::Bfloat => {
                        u64::from(((f64::from(f32::from_bits(old)) + sum) as f32).to_bits())
                    }
                    _ => u64::from((sum as i64 as u32).wrapping_add(old)),
                }
            });
            for (&register, sum) in self.d.iter().zip(sums) {
                registers[register][lane] = sum;
            }
        }
    }

    fn element(&self, register: u64, index: usize) -> f64 {
        let register = register as u32;
        match self.kind {
            Elements::Signed => f64::from((register >> (8 * index)) as u8 as i8),
            Elements::Unsigned => f64::from((register >> (8 * index)) as u8),
            Elements::Bfloat => f64::from(f32::from_bits(register >> (16 * index) << 16)),
        }
    }
}
