//! Executes the instructions of a block, warp by warp.

mod barrier;

use std::time::Instant;

use self::barrier::Arrival;
use super::APART;
use super::fault::{Fault, Kind, Moment, Rule};
use super::memory::{Order, Region, Use};
use super::place;
use super::program::{Address, BARRIERS, Code, Fixed, Op, Source, Step};
use super::space::{Space, located};
use super::special::Thread;
use super::value::{Lanes, chosen, each, low, value_of};

/// The most instructions that a warp executes before another one may.
const SLICE: u32 = 1 << 16;

/// The memory of a launch.
#[derive(Debug)]
pub(super) struct Memory {
    /// The variables of the module, then the arguments.
    pub(super) regions: Vec<Region>,
    /// The shared memory of the present block.
    pub(super) shared: Region,
    /// Who has arrived at the barriers of the present block without waiting, in order.
    pub(super) arrivals: [Vec<Arrival>; BARRIERS as usize],
    pub(super) parameters: Region,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    Running,
    /// It waits for other threads of the warp, at its instruction.
    Gathering,
    /// It waits for all threads of the block.
    Waiting,
    Ended,
}

/// The part of a copy to shared memory that a thread has begun.
#[derive(Debug)]
struct Pending {
    /// The number of the thread's group of copies.
    group: u64,
    offset: u64,
    content: Vec<u8>,
}

/// A block.
pub(super) struct Block<'p> {
    code: &'p Code<'p>,
    /// The bytes of shared memory.
    shared: usize,
    seed: Option<u64>,
    end: Option<Instant>,
    /// The order of the warps, and whose numbers tell for how long they run.
    random: Option<fastrand::Rng>,
    number: u32,
    place: [u32; 3],
    grid: [u32; 3],
    shape: [u32; 3],
    warps: Vec<Warp>,
}

struct Warp {
    number: u32,
    registers: Vec<Lanes>,
    at: [u32; 32],
    states: [State; 32],
    /// The number of barriers that each lane has passed, plus one.
    clocks: Clocks,
    /// For each other warp of the block, the clocks of its lanes when they last met this one,
    /// themselves or through others. What they did until then comes before what this one does.
    known: Vec<Clocks>,
    /// For each lane, the same for the lanes of its warp.
    seen: Box<[Clocks; 32]>,
    local: Vec<Region>,
    copies: Vec<Vec<Pending>>,
    groups: Lanes,
}

/// A number for each lane of a warp, which counts what it has done.
type Clocks = [u32; 32];

/// Makes clocks the later ones of two.
fn join(all: &mut [Clocks], others: &[Clocks]) {
    for (all, one) in all.iter_mut().flatten().zip(others.iter().flatten()) {
        *all = (*all).max(*one);
    }
}

/// What comes before an access: what the thread or one that it has met since has done.
struct Past<'w> {
    block: u32,
    warp: u32,
    known: &'w [Clocks],
    seen: &'w Clocks,
}

impl Order for Past<'_> {
    fn is_before(&self, earlier: &Moment) -> bool {
        let (warp, lane) = (earlier.thread / 32, earlier.thread as usize % 32);
        let clocks = if warp == self.warp { self.seen } else { &self.known[warp as usize] };
        earlier.block == self.block && earlier.clock <= clocks[lane]
    }
}

impl<'p> Block<'p> {
    pub(super) fn new(
        code: &'p Code<'p>,
        grid: [u32; 3],
        shape: [u32; 3],
        shared: usize,
        seed: Option<u64>,
        end: Option<Instant>,
    ) -> Self {
        let warps = shape.iter().product::<u32>().div_ceil(32);
        let warps = (0..warps).map(|_| Warp::none(vec![[0; 32]; code.widths.len()])).collect();
        Self { code, shared, seed, end, random: None, number: 0, place: [0; 3], grid, shape, warps }
    }

    /// Begins another block, with the registers of the last one.
    pub(super) fn begin(&mut self, memory: &mut Memory, number: u32) {
        let local = self.code.local as usize;
        memory.arrivals = Default::default();
        memory.shared = Region::undefined(self.shared);
        self.random =
            self.seed.map(|seed| fastrand::Rng::with_seed(seed ^ u64::from(number) << 32));
        (self.number, self.place) = (number, place(number, self.grid));
        let threads: u32 = self.shape.iter().product();
        let warps = self.warps.len();
        for (number, warp) in (0..).zip(&mut self.warps) {
            let thread = |lane: usize| 32 * number + lane as u32;
            let state = |lane| if thread(lane) < threads { State::Running } else { State::Ended };
            let mut registers = std::mem::take(&mut warp.registers);
            for (what, &register) in &self.code.fixed {
                registers[register] = std::array::from_fn(|lane| match *what {
                    Fixed::Constant(value) => value,
                    Fixed::Special(name) => {
                        let thread = Thread {
                            thread: place(thread(lane), self.shape),
                            threads: self.shape,
                            block: self.place,
                            blocks: self.grid,
                            lane: lane as u32,
                            warp: number,
                            warps: warps as u32,
                        };
                        thread.special(name).unwrap_or_default().into()
                    }
                });
            }
            *warp = Warp {
                number,
                states: std::array::from_fn(state),
                clocks: [1; 32],
                known: vec![[0; 32]; warps],
                local: (0..32).map(|_| Region::undefined(local)).collect(),
                copies: (0..32).map(|_| Vec::new()).collect(),
                ..Warp::none(registers)
            };
        }
    }

    /// Runs all threads to their end. Takes the executed instructions from `left`.
    pub(super) fn run(&mut self, memory: &mut Memory, left: &mut u64) -> Result<(), Fault> {
        loop {
            let mut order: Vec<usize> = (0..self.warps.len()).collect();
            if let Some(random) = &mut self.random {
                random.shuffle(&mut order);
            }
            for index in order {
                // Short turns, so that warps overtake one another at many places.
                let steps = self.random.as_mut().map_or(SLICE, |random| 1 << random.u32(..10));
                let mut warp = std::mem::replace(&mut self.warps[index], Warp::none(Vec::new()));
                let done = self.run_warp(&mut warp, memory, left, steps);
                self.warps[index] = warp;
                done?;
            }
            // A thread that asks again and again whether another one is done lets it run.
            if self.open_barriers(&mut memory.arrivals)?
                || self.warps.iter().any(|w| w.in_state(State::Running) != 0)
            {
                continue;
            }
            let mut states =
                self.warps.iter().flat_map(|warp| (0..32).map(move |lane| (warp, lane)));
            return match states.find(|(warp, lane)| warp.states[*lane] == State::Waiting) {
                Some((warp, lane)) => Err(Fault::rule(self.moment(warp, lane), Rule::Divergent)),
                None => Ok(()),
            };
        }
    }

    fn moment(&self, warp: &Warp, lane: usize) -> Moment {
        Moment {
            block: self.number,
            thread: 32 * warp.number + lane as u32,
            clock: warp.clocks[lane],
            at: warp.at[lane],
        }
    }

    /// Runs a warp for a while, or until all its threads wait for the block or have ended.
    fn run_warp(
        &self,
        warp: &mut Warp,
        memory: &mut Memory,
        left: &mut u64,
        most: u32,
    ) -> Result<(), Fault> {
        let mut steps = 0;
        if let Some(lane) = each(warp.in_state(State::Running)).next()
            && self.end.is_some_and(|end| Instant::now() > end)
        {
            return Err(Fault::rule(self.moment(warp, lane), Rule::TooSlow));
        }
        while steps < most {
            let running = warp.in_state(State::Running);
            let Some(at) = each(running).map(|lane| warp.at[lane]).min() else {
                if !self.meet_any(warp, memory)? {
                    return Ok(());
                }
                continue;
            };
            let group = chosen(running, |lane| warp.at[lane] == at);
            // While all running threads are together, nothing else can be first.
            let mut at = at;
            loop {
                steps += 1;
                let count = u64::from(group.count_ones());
                if *left < count {
                    let lane = group.trailing_zeros() as usize;
                    return Err(Fault::rule(self.moment(warp, lane), Rule::TooLong));
                }
                *left -= count;
                match self.step(warp, memory, at, group)? {
                    true if group == running && steps < most => at += 1,
                    _ => break,
                }
            }
        }
        Ok(())
    }

    /// Executes an instruction for the threads in `group`. Returns whether all of them continue at
    /// the next instruction.
    fn step(
        &self,
        warp: &mut Warp,
        memory: &mut Memory,
        at: u32,
        group: u32,
    ) -> Result<bool, Fault> {
        let Step { guard, op, .. } = &self.code.steps[at as usize];
        let active = match guard {
            Some((predicate, holds)) => {
                let values = &warp.registers[*predicate];
                chosen(group, |lane| (values[lane] & 1 == 1) == *holds)
            }
            None => group,
        };
        each(group & !active).for_each(|lane| warp.at[lane] = at + 1);
        let Some(first) = each(active).next() else { return Ok(true) };
        let wait = |warp: &mut Warp, state| each(active).for_each(|lane| warp.states[lane] = state);
        match op {
            Op::Jump(target) => each(active).for_each(|lane| warp.at[lane] = *target as u32),
            Op::JumpTable(index, targets) => {
                let index = warp.lanes(*index);
                for lane in each(active) {
                    let target = targets.get(low(index[lane], 32) as usize);
                    let none = || Fault::rule(self.moment(warp, lane), Rule::NoTarget);
                    warp.at[lane] = *target.ok_or_else(none)? as u32;
                }
            }
            Op::Trap => return Err(Fault::rule(self.moment(warp, first), Rule::Trap)),
            Op::Exit => wait(warp, State::Ended),
            Op::BlockBarrier(barrier) if barrier.waits => wait(warp, State::Waiting),
            _ => match op.set() {
                Some(set) => {
                    wait(warp, State::Gathering);
                    return Ok(self.meet(warp, memory, at, first, set)? && active == group);
                }
                None => {
                    self.execute(warp, memory, op, active)?;
                    each(active).for_each(|lane| warp.at[lane] = at + 1);
                    return Ok(true);
                }
            },
        }
        Ok(false)
    }

    /// Lets threads continue that have waited for others which have ended since. Returns whether
    /// there were such threads.
    fn meet_any(&self, warp: &mut Warp, memory: &mut Memory) -> Result<bool, Fault> {
        let gathering = warp.in_state(State::Gathering);
        for lane in each(gathering) {
            let at = warp.at[lane];
            let Some(set) = self.code.steps[at as usize].op.set() else { continue };
            if self.meet(warp, memory, at, lane, set)? {
                return Ok(true);
            }
        }
        match gathering {
            0 => Ok(false),
            some => {
                let lane = some.trailing_zeros() as usize;
                Err(Fault::rule(self.moment(warp, lane), Rule::Divergent))
            }
        }
    }

    /// Executes an instruction of several threads if all threads are there that `lane` waits for.
    fn meet(
        &self,
        warp: &mut Warp,
        memory: &mut Memory,
        at: u32,
        lane: usize,
        set: Option<Source>,
    ) -> Result<bool, Fault> {
        let sets = match set {
            Some(source) => warp.lanes(source),
            None => [u64::from(u32::MAX); 32],
        };
        let wanted = sets[lane] as u32;
        let here = chosen(warp.in_state(State::Gathering), |other| {
            warp.at[other] == at && sets[other] as u32 == wanted
        });
        if let Some(stranger) = each(here & !wanted).next() {
            return Err(Fault::rule(self.moment(warp, stranger), Rule::NotInSet));
        }
        if here != wanted & !warp.in_state(State::Ended) {
            return Ok(false);
        }
        if set.is_none()
            && let Some(missing) = each(!here).next()
        {
            return Err(Fault::rule(self.moment(warp, lane), Rule::Lane(missing as u32)));
        }
        self.execute(warp, memory, &self.code.steps[at as usize].op, here)?;
        for other in each(here) {
            warp.states[other] = State::Running;
            warp.at[other] = at + 1;
        }
        Ok(true)
    }

    /// Executes an instruction for these lanes.
    fn execute(
        &self,
        warp: &mut Warp,
        memory: &mut Memory,
        op: &Op,
        active: u32,
    ) -> Result<(), Fault> {
        match op {
            Op::Compute { to, from, compute } => {
                let copies;
                let operands = match from.iter().any(|source| source.is_opposite) {
                    true => {
                        copies = from.map(|source| warp.lanes(source));
                        copies.each_ref()
                    }
                    false => from.map(|source| &warp.registers[source.register]),
                };
                // The result may replace an operand.
                let mut results = warp.registers[*to];
                compute.function.of_lanes(operands, active, self.code.widths[*to], &mut results);
                warp.registers[*to] = results;
            }
            Op::Join { to, from, bits } => {
                let parts: Vec<Lanes> = from.iter().map(|part| warp.lanes(*part)).collect();
                for lane in each(active) {
                    let join = |all: u64, part: &Lanes| {
                        all.checked_shl(*bits).unwrap_or(0) | low(part[lane], *bits)
                    };
                    warp.registers[*to][lane] = parts.iter().rev().fold(0, join);
                }
            }
            Op::Split { to, from, bits } => {
                let whole = warp.lanes(*from);
                for (number, to) in (0..).zip(to) {
                    let part = |lane: usize| whole[lane].checked_shr(bits * number).unwrap_or(0);
                    each(active).for_each(|lane| warp.put(*to, lane, low(part(lane), *bits)));
                }
            }
            Op::Load { to, from, kind, is_relaxed } => {
                let how = if *is_relaxed { Use::Atomic } else { Use::Read };
                let size = kind.bytes() as usize;
                let addresses = warp.lanes(from.base);
                for lane in each(active) {
                    let bytes = size * to.len();
                    let (region, start) =
                        self.access(warp, memory, lane, *from, addresses[lane], bytes, how)?;
                    let values: [u64; 4] = std::array::from_fn(|i| match i < to.len() {
                        true => region.read(start + i * size, size),
                        false => 0,
                    });
                    for (to, value) in to.iter().zip(values) {
                        let Some(register) = *to else { continue };
                        // A register that is wider than the memory gets its sign.
                        let value = low(value_of(value, *kind) as u64, self.code.widths[register]);
                        warp.registers[register][lane] = value;
                    }
                }
            }
            Op::Store { to, from, kind, is_relaxed } => {
                let how = if *is_relaxed { Use::Set } else { Use::Write };
                let value = |part: &Source| warp.lanes(*part).map(|value| low(value, kind.bits));
                let values: Vec<Lanes> = from.iter().map(value).collect();
                let addresses = warp.lanes(to.base);
                let size = kind.bytes() as usize;
                for lane in each(active) {
                    let bytes = size * from.len();
                    let access = self.access(warp, memory, lane, *to, addresses[lane], bytes, how);
                    let (region, start) = match access {
                        // Compilers let several lanes write the same value to the same place.
                        Err(Fault { kind: Kind::Race { .. }, .. })
                            if each(active & ((1 << lane) - 1)).any(|other| {
                                addresses[other] == addresses[lane]
                                    && values.iter().all(|value| value[other] == value[lane])
                            }) =>
                        {
                            continue;
                        }
                        access => access?,
                    };
                    for (i, value) in values.iter().enumerate() {
                        region.write(start + i * size, size, value[lane]);
                    }
                }
            }
            Op::Atomic { result, at, from, bits, compute } => {
                let [b, c, ..] = from.map(|source| warp.lanes(source));
                let addresses = warp.lanes(at.base);
                let bytes = *bits as usize / 8;
                for lane in each(active) {
                    let (region, start) =
                        self.access(warp, memory, lane, *at, addresses[lane], bytes, Use::Atomic)?;
                    let old = region.read(start, bytes);
                    let operands = [old, low(b[lane], *bits), low(c[lane], *bits), 0];
                    region.write(start, bytes, compute.function.of(&operands));
                    warp.put(*result, lane, old);
                }
            }
            Op::WarpBarrier(_) => {
                let seen = warp.pass(active)[warp.number as usize];
                each(active).for_each(|lane| warp.seen[lane] = seen);
            }
            Op::Exchange { to, from, exchange, .. } => {
                let from = from.map(|source| warp.lanes(source));
                for lane in each(active) {
                    let [one, other] = exchange(&from, active, lane)
                        .map_err(|other| Fault::rule(self.moment(warp, lane), Rule::Lane(other)))?;
                    warp.put(to[0], lane, one);
                    warp.put(to[1], lane, other);
                }
            }
            Op::Active(to) => {
                each(active).for_each(|lane| warp.registers[*to][lane] = active.into());
            }
            Op::Carry { to, carry, from, function, bits } => {
                let from = from.map(|source| warp.lanes(source));
                for lane in each(active) {
                    let wide = function(&from.map(|values| values[lane]));
                    warp.registers[*to][lane] = low(wide as u64, *bits);
                    warp.put(*carry, lane, (wide >> bits) as u64 & 1);
                }
            }
            Op::Product(product) => product.multiply(&mut warp.registers),
            Op::LoadMatrix { to, from, is_transposed } => {
                self.load_matrix(warp, memory, to, *from, *is_transposed, active)?;
            }
            Op::Copy { to, from, bytes } => {
                let [targets, sources] = [to, from].map(|address| warp.lanes(address.base));
                for lane in each(active) {
                    let (region, start) =
                        self.access(warp, memory, lane, *from, sources[lane], *bytes, Use::Read)?;
                    let content = region.bytes[start..start + bytes].to_vec();
                    let (region, start) =
                        self.access(warp, memory, lane, *to, targets[lane], *bytes, Use::Write)?;
                    // Until the copy is finished, nobody may read its target.
                    region.defined[start..start + bytes].fill(false);
                    let (group, offset) = (warp.groups[lane], start as u64);
                    // What nobody awaits must not take more and more memory.
                    warp.copies[lane].retain(|earlier| earlier.offset != offset);
                    warp.copies[lane].push(Pending { group, offset, content });
                }
            }
            Op::CommitCopies => each(active).for_each(|lane| warp.groups[lane] += 1),
            Op::WaitForCopies(most) => {
                for lane in each(active) {
                    let finished = warp.groups[lane].saturating_sub(*most);
                    let (done, left) = std::mem::take(&mut warp.copies[lane])
                        .into_iter()
                        .partition(|copy| copy.group < finished);
                    warp.copies[lane] = left;
                    for Pending { offset, content, .. } in done {
                        let now = self.moment(warp, lane);
                        // Its target is not defined, unless the thread itself has written there.
                        let mut target = offset..offset + content.len() as u64;
                        if let Some(byte) =
                            target.find(|&byte| memory.shared.defined[byte as usize])
                        {
                            return Err(Fault::race(now, now, true, byte));
                        }
                        let Warp { number, known, seen, .. } = &*warp;
                        let past =
                            Past { block: now.block, warp: *number, known, seen: &seen[lane] };
                        let start =
                            memory.shared.access(offset, content.len(), Use::Write, now, &past)?;
                        memory.shared.bytes[start..start + content.len()].copy_from_slice(&content);
                    }
                }
            }
            Op::BlockBarrier(barrier) => {
                self.arrive(warp, &mut memory.arrivals, barrier, active)?;
            }
            // `step` does the others.
            Op::Nothing | Op::Jump(_) | Op::JumpTable(..) | Op::Trap | Op::Exit => {}
        }
        Ok(())
    }

    /// Loads matrices of 8 rows of 16 bytes, whose addresses 8 lanes each give.
    fn load_matrix(
        &self,
        warp: &mut Warp,
        memory: &mut Memory,
        to: &[usize],
        from: Address,
        is_transposed: bool,
        active: u32,
    ) -> Result<(), Fault> {
        let addresses = warp.lanes(from.base);
        for (number, &to) in to.iter().enumerate() {
            let mut rows = [[0_u16; 8]; 8];
            for (row, elements) in rows.iter_mut().enumerate() {
                let lane = 8 * number + row;
                let (region, start) =
                    self.access(warp, memory, lane, from, addresses[lane], 16, Use::Read)?;
                for (i, element) in elements.iter_mut().enumerate() {
                    *element = region.read(start + 2 * i, 2) as u16;
                }
            }
            for lane in each(active) {
                let pair = [0, 1].map(|i| match is_transposed {
                    true => rows[lane % 4 * 2 + i][lane / 4],
                    false => rows[lane / 4][lane % 4 * 2 + i],
                });
                warp.registers[to][lane] = u64::from(pair[0]) | u64::from(pair[1]) << 16;
            }
        }
        Ok(())
    }

    /// Checks an access. Returns the memory and the index of the first byte in it.
    #[allow(clippy::too_many_arguments, reason = "an access has as many parts")]
    fn access<'m>(
        &self,
        warp: &'m mut Warp,
        memory: &'m mut Memory,
        lane: usize,
        address: Address,
        base: u64,
        bytes: usize,
        how: Use,
    ) -> Result<(&'m mut Region, usize), Fault> {
        let now = self.moment(warp, lane);
        let Warp { number, known, seen, local, .. } = warp;
        let past = Past { block: now.block, warp: *number, known, seen: &seen[lane] };
        let whole = base.wrapping_add_signed(address.offset);
        let (space, whole) = match address.space {
            Space::Generic => located(whole),
            space => (space, whole),
        };
        let (region, offset) = match space {
            Space::Global | Space::Generic => {
                let index = (whole >> APART).checked_sub(1).and_then(|i| usize::try_from(i).ok());
                let region = index.and_then(|index| memory.regions.get_mut(index));
                let none = || Fault::rule(now, Rule::NoMemory(whole));
                (region.ok_or_else(none)?, whole & ((1 << APART) - 1))
            }
            // Addresses in the other spaces have 32 bits.
            Space::Shared => (&mut memory.shared, low(whole, 32)),
            Space::Local => (&mut local[lane], low(whole, 32)),
            Space::Parameter => (&mut memory.parameters, low(whole, 32)),
        };
        let start = region.access(offset, bytes, how, now, &past)?;
        Ok((region, start))
    }
}

impl Warp {
    /// Returns a warp without threads.
    fn none(registers: Vec<Lanes>) -> Self {
        Self {
            number: 0,
            registers,
            at: [0; 32],
            states: [State::Ended; 32],
            known: Vec::new(),
            clocks: [0; 32],
            seen: Box::new([[0; 32]; 32]),
            local: Vec::new(),
            copies: Vec::new(),
            groups: [0; 32],
        }
    }

    fn in_state(&self, state: State) -> u32 {
        chosen(u32::MAX, |lane| self.states[lane] == state)
    }

    /// Returns the values of an operand.
    fn lanes(&self, Source { register, is_opposite }: Source) -> Lanes {
        let values = self.registers[register];
        if is_opposite { values.map(|value| !value & 1) } else { values }
    }

    /// Writes a result, if it is needed.
    fn put(&mut self, to: Option<usize>, lane: usize, value: u64) {
        if let Some(register) = to {
            self.registers[register][lane] = value;
        }
    }

    /// Lets these lanes pass a barrier. Returns what comes before what others do behind it.
    fn pass(&mut self, lanes: u32) -> Vec<Clocks> {
        let mut known = self.known.clone();
        let own = &mut known[self.number as usize];
        for lane in each(lanes) {
            join(std::slice::from_mut(own), &self.seen[lane..=lane]);
            own[lane] = own[lane].max(self.clocks[lane]);
        }
        each(lanes).for_each(|lane| self.clocks[lane] += 1);
        known
    }
}

impl Op {
    /// Returns the operand with the set of threads that execute this together, `Some(None)` for
    /// all threads of the warp, or `None` if each thread executes this alone.
    #[allow(clippy::option_option, reason = "the sets of some instructions are fixed")]
    const fn set(&self) -> Option<Option<Source>> {
        match self {
            Self::WarpBarrier(set) | Self::Exchange { set, .. } => Some(Some(*set)),
            Self::Product(_) | Self::LoadMatrix { .. } => Some(None),
            _ => None,
        }
    }
}
