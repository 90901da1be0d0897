//! Executes the instructions of a block, warp by warp.

mod barrier;

use std::time::Instant;

use self::barrier::Arrival;
use super::APART;
use super::fault::{Fault, Kind, Moment, Rule};
use super::memory::{Order, Region, Use};
use super::place;
use super::program::{Address, BARRIERS, Code, Op, Source, Special, Step, extended};
use super::space::{Space, located};
use super::value::{Lanes, low};

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

/// Returns the lanes in a set.
fn each(set: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| set >> lane & 1 == 1)
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
        let mut registers = vec![[0; 32]; code.widths.len() - code.constants.len()];
        registers.extend(code.constants.iter().map(|&value| [value; 32]));
        let warps = (0..warps).map(|_| Warp::none(registers.clone())).collect();
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
            let exists = |lane: usize| 32 * number + (lane as u32) < threads;
            let states =
                std::array::from_fn(
                    |lane| {
                        if exists(lane) { State::Running } else { State::Ended }
                    },
                );
            *warp = Warp {
                number,
                states,
                clocks: [1; 32],
                known: vec![[0; 32]; warps],
                local: (0..32).map(|_| Region::undefined(local)).collect(),
                copies: (0..32).map(|_| Vec::new()).collect(),
                ..Warp::none(std::mem::take(&mut warp.registers))
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
            let group: u32 = each(running)
                .filter(|&lane| warp.at[lane] == at)
                .fold(0, |all, lane| all | 1 << lane);
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
                each(group)
                    .filter(|&lane| (values[lane] & 1 == 1) == *holds)
                    .fold(0, |all, lane| all | 1 << lane)
            }
            None => group,
        };
        match op {
            Op::Jump(target) => {
                for lane in each(group) {
                    warp.at[lane] = if active >> lane & 1 == 1 { *target as u32 } else { at + 1 };
                }
                return Ok(active == 0);
            }
            Op::JumpTable(index, targets) => {
                let index = self.lanes(warp, *index);
                for lane in each(group) {
                    warp.at[lane] = match active >> lane & 1 {
                        1 => match targets.get(low(index[lane], 32) as usize) {
                            Some(target) => *target as u32,
                            None => {
                                return Err(Fault::rule(self.moment(warp, lane), Rule::NoTarget));
                            }
                        },
                        _ => at + 1,
                    };
                }
                return Ok(active == 0);
            }
            Op::Trap => {
                if let Some(lane) = each(active).next() {
                    return Err(Fault::rule(self.moment(warp, lane), Rule::Trap));
                }
            }
            Op::BlockBarrier(barrier) if !barrier.waits => {
                self.arrive(warp, &mut memory.arrivals, barrier, active)?;
            }
            Op::Exit | Op::BlockBarrier(_) => {
                let state = if matches!(op, Op::Exit) { State::Ended } else { State::Waiting };
                for lane in each(group) {
                    match active >> lane & 1 {
                        1 => warp.states[lane] = state,
                        _ => warp.at[lane] = at + 1,
                    }
                }
                return Ok(active == 0);
            }
            _ => {}
        }
        if let Some(set) = op.set() {
            for lane in each(group) {
                match active >> lane & 1 {
                    1 => warp.states[lane] = State::Gathering,
                    _ => warp.at[lane] = at + 1,
                }
            }
            let first = active.trailing_zeros() as usize;
            return Ok(active == 0 || self.meet(warp, memory, at, first, set)? && active == group);
        }
        self.execute(warp, memory, op, active)?;
        each(group).for_each(|lane| warp.at[lane] = at + 1);
        Ok(true)
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
            Some(source) => self.lanes(warp, source),
            None => [u64::from(u32::MAX); 32],
        };
        let wanted = sets[lane] as u32;
        let here = each(warp.in_state(State::Gathering))
            .filter(|&other| warp.at[other] == at && sets[other] as u32 == wanted)
            .fold(0, |all, other| all | 1_u32 << other);
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

    fn value(&self, warp: &Warp, lane: usize, source: Source) -> u64 {
        match source {
            Source::Register(index) => warp.registers[index][lane],
            Source::Constant(value) => value,
            source => self.lanes(warp, source)[lane],
        }
    }

    fn lanes(&self, warp: &Warp, source: Source) -> Lanes {
        match source {
            Source::Register(index) => warp.registers[index],
            Source::Not(index) => warp.registers[index].map(|value| !value & 1),
            Source::Constant(value) => [value; 32],
            Source::Special(special) => {
                let thread = |lane: usize| place(32 * warp.number + lane as u32, self.shape);
                std::array::from_fn(|lane| {
                    u64::from(match special {
                        Special::Thread(axis) => thread(lane)[axis],
                        Special::Threads(axis) => self.shape[axis],
                        Special::Block(axis) => self.place[axis],
                        Special::Blocks(axis) => self.grid[axis],
                        Special::Lane => lane as u32,
                        Special::Warp => warp.number,
                        Special::Warps => self.warps.len() as u32,
                        Special::WarpSize => 32,
                        Special::Lanes(way) => {
                            let own = 1_u32 << lane;
                            match way {
                                "eq" => own,
                                "lt" => own - 1,
                                "le" => own | (own - 1),
                                "gt" => !(own | (own - 1)),
                                _ => !(own - 1),
                            }
                        }
                    })
                })
            }
        }
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
            Op::Compute { to, from, function } => {
                // Operands that are not in registers, such as numbers of threads, are rare.
                let copies;
                let operands = match from.map(Source::register) {
                    [Some(a), Some(b), Some(c), Some(d)] => {
                        [a, b, c, d].map(|i| &warp.registers[i])
                    }
                    _ => {
                        copies = from.map(|source| self.lanes(warp, source));
                        copies.each_ref()
                    }
                };
                // The result may replace an operand.
                let mut results = warp.registers[*to];
                function.of_lanes(operands, active, self.code.widths[*to], &mut results);
                warp.registers[*to] = results;
            }
            Op::Join { to, from, bits } => {
                let parts: Vec<Lanes> = from.iter().map(|part| self.lanes(warp, *part)).collect();
                for lane in each(active) {
                    let join = |all: u64, part: &Lanes| {
                        all.checked_shl(*bits).unwrap_or(0) | low(part[lane], *bits)
                    };
                    warp.registers[*to][lane] = parts.iter().rev().fold(0, join);
                }
            }
            Op::Split { to, from, bits } => {
                let whole = self.lanes(warp, *from);
                for (number, to) in to.iter().enumerate() {
                    let Some(to) = to else { continue };
                    for lane in each(active) {
                        let part = whole[lane].checked_shr(bits * number as u32).unwrap_or(0);
                        warp.registers[*to][lane] = low(part, *bits);
                    }
                }
            }
            Op::Load { to, from, kind, is_relaxed } => {
                let how = if *is_relaxed { Use::Atomic } else { Use::Read };
                let addresses = self.lanes(warp, from.base);
                for lane in each(active) {
                    let size = kind.bytes() as usize;
                    let bytes = size * to.len();
                    let (region, start) =
                        self.access(warp, memory, lane, *from, addresses[lane], bytes, how)?;
                    let mut values = [0; 4];
                    for (i, value) in values.iter_mut().take(to.len()).enumerate() {
                        *value = region.read(start + i * size, size);
                    }
                    for (to, value) in to.iter().zip(values) {
                        if let Some(to) = to {
                            warp.registers[*to][lane] =
                                extended(value, *kind, self.code.widths[*to]);
                        }
                    }
                }
            }
            Op::Store { to, from, kind, is_relaxed } => {
                let how = if *is_relaxed { Use::Set } else { Use::Write };
                let values: Vec<Lanes> = from.iter().map(|part| self.lanes(warp, *part)).collect();
                let addresses = self.lanes(warp, to.base);
                for lane in each(active) {
                    let size = kind.bytes() as usize;
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
            Op::Atomic { result, at, from, bits, function } => {
                let [b, c] = from.map(|source| self.lanes(warp, source));
                let addresses = self.lanes(warp, at.base);
                let bytes = *bits as usize / 8;
                for lane in each(active) {
                    let (region, start) =
                        self.access(warp, memory, lane, *at, addresses[lane], bytes, Use::Atomic)?;
                    let old = region.read(start, bytes);
                    let new = function.of(&[old, low(b[lane], *bits), low(c[lane], *bits), 0]);
                    region.write(start, bytes, new);
                    if let Some(result) = result {
                        warp.registers[*result][lane] = old;
                    }
                }
            }
            Op::WarpBarrier(_) => {
                let seen = warp.pass(active)[warp.number as usize];
                each(active).for_each(|lane| warp.seen[lane] = seen);
            }
            Op::Shuffle { mode, to, valid, from, lane: which, bounds, .. } => {
                let [from, which, bounds] =
                    [from, which, bounds].map(|source| self.lanes(warp, *source));
                for lane in each(active) {
                    let own = lane as u32;
                    let (b, limit) = (which[lane] as u32 & 31, bounds[lane] as u32);
                    let (segment, clamp) = (limit >> 8 & 31, limit & 31);
                    let most = own & segment | clamp & !segment;
                    let (other, is_valid) = match *mode {
                        "up" => (own.wrapping_sub(b), own as i32 - b as i32 >= most as i32),
                        "down" => (own + b, own + b <= most),
                        "bfly" => (own ^ b, own ^ b <= most),
                        _ => {
                            let other = own & segment | b & !segment;
                            (other, other <= most)
                        }
                    };
                    let other = if is_valid { other & 31 } else { own };
                    if active >> other & 1 == 0 {
                        return Err(Fault::rule(self.moment(warp, lane), Rule::Lane(other)));
                    }
                    warp.registers[*to][lane] = low(from[other as usize], 32);
                    if let Some(valid) = valid {
                        warp.registers[*valid][lane] = u64::from(is_valid);
                    }
                }
            }
            Op::Vote { mode, to, from, .. } => {
                let values = self.lanes(warp, *from);
                let votes = each(active)
                    .filter(|&lane| values[lane] & 1 == 1)
                    .fold(0, |all, lane| all | 1_u32 << lane);
                let result = match *mode {
                    "all" => u32::from(votes == active),
                    "any" => u32::from(votes != 0),
                    "uni" => u32::from(votes == 0 || votes == active),
                    _ => votes,
                };
                each(active).for_each(|lane| warp.registers[*to][lane] = result.into());
            }
            Op::Match { to, from, bits, .. } => {
                let values = self.lanes(warp, *from).map(|value| low(value, *bits));
                for lane in each(active) {
                    let equal = each(active).filter(|&other| values[other] == values[lane]);
                    let equal = equal.fold(0, |all, other| all | 1_u32 << other);
                    warp.registers[*to][lane] = equal.into();
                }
            }
            Op::MatchAll { to, equal, from, bits, .. } => {
                let values = self.lanes(warp, *from).map(|value| low(value, *bits));
                let first = values[active.trailing_zeros() as usize % 32];
                let is_equal = each(active).all(|lane| values[lane] == first);
                let set = if is_equal { active } else { 0 };
                for lane in each(active) {
                    for (to, value) in [(to, u64::from(set)), (equal, u64::from(is_equal))] {
                        if let Some(to) = to {
                            warp.registers[*to][lane] = value;
                        }
                    }
                }
            }
            Op::Reduce { to, from, function, .. } => {
                let values = self.lanes(warp, *from);
                let all = each(active).map(|lane| values[lane]);
                let all = all.reduce(|a, b| function.of(&[a, b, 0, 0])).unwrap_or(0);
                each(active).for_each(|lane| warp.registers[*to][lane] = all);
            }
            Op::Elect { to, is_chosen, .. } => {
                let first = active.trailing_zeros();
                for lane in each(active) {
                    if let Some(to) = to {
                        warp.registers[*to][lane] = first.into();
                    }
                    warp.registers[*is_chosen][lane] = u64::from(lane as u32 == first);
                }
            }
            Op::Active(to) => {
                each(active).for_each(|lane| warp.registers[*to][lane] = active.into());
            }
            Op::Carry { to, carry, from, function, bits } => {
                let [a, b, c, d] = from.map(|source| self.lanes(warp, source));
                for lane in each(active) {
                    let wide = function(&[a[lane], b[lane], c[lane], d[lane]]);
                    warp.registers[*to][lane] = low(wide as u64, *bits);
                    if let Some(carry) = carry {
                        warp.registers[*carry][lane] = (wide >> bits) as u64 & 1;
                    }
                }
            }
            Op::Product(product) => product.multiply(&mut warp.registers),
            Op::LoadMatrix { to, from, is_transposed } => {
                self.load_matrix(warp, memory, to, *from, *is_transposed, active)?;
            }
            Op::Copy { to, from, bytes } => {
                let [targets, sources] = [to, from].map(|address| self.lanes(warp, address.base));
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
                        let (now, past) = self.past(warp, lane);
                        // Its target is not defined, unless the thread itself has written there.
                        let mut target = offset..offset + content.len() as u64;
                        if let Some(byte) =
                            target.find(|&byte| memory.shared.defined[byte as usize])
                        {
                            let earlier = now;
                            return Err(Fault::at(
                                now,
                                Kind::Race { earlier, is_write: true, byte },
                            ));
                        }
                        let start =
                            memory.shared.access(offset, content.len(), Use::Write, now, &past)?;
                        memory.shared.bytes[start..start + content.len()].copy_from_slice(&content);
                    }
                }
            }
            Op::Nothing
            | Op::Jump(_)
            | Op::JumpTable(..)
            | Op::Trap
            | Op::Exit
            | Op::BlockBarrier(_) => {}
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
        let addresses = self.lanes(warp, from.base);
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

    fn past<'w>(&self, warp: &'w Warp, lane: usize) -> (Moment, Past<'w>) {
        let past = Past {
            block: self.number,
            warp: warp.number,
            known: &warp.known,
            seen: &warp.seen[lane],
        };
        (self.moment(warp, lane), past)
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
        let past = Past {
            block: self.number,
            warp: warp.number,
            known: &warp.known,
            seen: &warp.seen[lane],
        };
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
            Space::Local => (&mut warp.local[lane], low(whole, 32)),
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
        (0..32).filter(|&lane| self.states[lane] == state).fold(0, |all, lane| all | 1 << lane)
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
            Self::WarpBarrier(set)
            | Self::Shuffle { set, .. }
            | Self::Vote { set, .. }
            | Self::Match { set, .. }
            | Self::MatchAll { set, .. }
            | Self::Reduce { set, .. }
            | Self::Elect { set, .. } => Some(Some(*set)),
            Self::Product(_) | Self::LoadMatrix { .. } => Some(None),
            _ => None,
        }
    }
}
