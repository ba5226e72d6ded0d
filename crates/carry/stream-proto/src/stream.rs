//! State shared by the senders of a stream: the frames that they deliver, and the mapping of each sender's numbers
//! to those of the output. It must not know sessions, flows or the code.

use weir_wire::{MediaFraming, Sequence};

use crate::SenderIndex;
use crate::frames::{FrameLimits, Frames, Need, Placed, Stamp};
use crate::layout::Position;

/// Maximum number of senders at a time.
pub const MAX_SENDERS: usize = 8;
/// After this long without a packet that continues the numbering, new numbers are accepted, nanoseconds; not before
/// two latencies.
const ASTRAY_NS: u64 = 100_000_000;
/// A sender that is silent for this long is not waited for, nanoseconds.
const ABSENT_NS: u64 = 100_000_000;
/// Senders without relative delay deliver the same packet within this time, nanoseconds: they send in bursts.
const TOGETHER_NS: u64 = 1_000_000;
/// Maximum time to send a frame: anything longer was interrupted.
const LONGEST_SPREAD_NS: u64 = 1_000_000_000;
/// A sender that takes over and is at most this many frames behind continues the numbering of the previous one.
const LITTLE_BEHIND: u64 = 8;
/// Maximum gap in the numbers that is output frame by frame: a minute of 60 per second. Beyond it, numbering starts
/// again.
const LONGEST_GAP: u64 = 4_096;

/// A payload that was received or recovered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    /// Arrival time.
    pub now_ns: u64,
    /// Send time, on this clock.
    pub sent_ns: u64,
    /// Whether it is not a copy.
    pub original: bool,
    /// Its sender, and the slot of that sender, 0 to 7.
    pub sender: SenderIndex,
    pub place: u8,
    /// Its symbol, and whether the symbols are known from the sender's first on.
    pub symbol: u64,
    pub from_start: bool,
    pub framing: &'a MediaFraming,
    pub payload: &'a [u8],
}

/// State of the frames of one sender.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Delay of its frames after those of the first sender, nanoseconds.
    lag_ns: u64,
    seen_ns: Option<u64>,
    /// Highest frame, and highest symbol of a frame.
    frame: Option<u64>,
    symbol: Option<u64>,
    /// Send time of the first packet of that frame, and the delay of the last one after it.
    first_ns: u64,
    lasts_ns: u64,
    /// Time to send a frame; none before a second one has begun.
    spread_ns: Option<u64>,
}

impl Account {
    fn is_there(&self, now_ns: u64) -> bool {
        self.seen_ns.is_some_and(|seen| now_ns < seen + ABSENT_NS)
    }

    /// Learns from a packet of a frame. Returns whether it is the first of the frame.
    fn note(&mut self, incoming: &Incoming<'_>, frame: u64) -> bool {
        self.seen_ns = Some(incoming.now_ns);
        if self.frame == Some(frame) {
            self.lasts_ns = self.lasts_ns.max(incoming.sent_ns.saturating_sub(self.first_ns));
        }
        if self.frame.is_some_and(|newest| frame <= newest) {
            return false;
        }
        if self.frame.is_some() {
            let lasts_ns = self.lasts_ns.min(LONGEST_SPREAD_NS);
            let spread_ns = self.spread_ns.unwrap_or(lasts_ns);
            self.spread_ns = Some(follow(spread_ns, lasts_ns));
        }
        (self.frame, self.first_ns, self.lasts_ns) = (Some(frame), incoming.sent_ns, 0);
        true
    }

    /// Time from a packet of a frame to its last one, as far as known.
    fn rest_ns(&self, incoming: &Incoming<'_>, frame: u64) -> u64 {
        let spread_ns = self.spread_ns.unwrap_or(LONGEST_SPREAD_NS);
        match self.frame {
            Some(newest) if newest == frame => (self.first_ns + spread_ns).saturating_sub(incoming.sent_ns),
            // The rest of an earlier frame has been sent.
            Some(newest) if newest > frame => 0,
            _ => spread_ns,
        }
    }
}

/// Tracks an upper bound: up at once, down slowly.
fn follow(value: u64, now: u64) -> u64 {
    if now > value {
        now
    } else {
        value - (value - now) / 16
    }
}

/// Frames of a sender that will take over, in its own numbers.
#[derive(Debug)]
struct Staged {
    sender: SenderIndex,
    place: u8,
    frames: Frames,
    /// A frame that is complete.
    whole: Option<u64>,
}

/// A sender whose frames before `until` are still taken.
#[derive(Clone, Copy, Debug)]
struct Draining {
    sender: SenderIndex,
    shift: u64,
    until: u64,
}

/// The senders whose frames are taken.
#[derive(Debug)]
enum Taken {
    /// All senders.
    All,
    /// One sender, with another one that will take over, and the previous one.
    One {
        active: Option<SenderIndex>,
        staged: Option<Box<Staged>>,
        draining: Option<Draining>,
    },
}

#[derive(Clone, Copy, Debug)]
enum Role {
    Taken,
    Staged,
    Draining(Draining),
    Unwanted,
}

/// Frames of all senders.
#[derive(Debug)]
pub(crate) struct Stream {
    limits: FrameLimits,
    latency_ns: u64,
    pub(crate) frames: Frames,
    /// Offset from a sender's number to that of the output, modulo 2^64.
    shift: u64,
    /// When a packet last continued the numbering.
    fitted_ns: u64,
    /// No present sender knows the numbering.
    orphaned: bool,
    taken: Taken,
    accounts: [Account; MAX_SENDERS],
}

impl Stream {
    /// A stream without packets, of all senders or of one at a time.
    pub(crate) fn new(limits: FrameLimits, latency_ns: u64, one_at_a_time: bool) -> Self {
        Stream {
            limits,
            latency_ns,
            frames: Frames::new(limits),
            shift: 0,
            fitted_ns: 0,
            orphaned: false,
            taken: match one_at_a_time {
                true => Taken::One {
                    active: None,
                    staged: None,
                    draining: None,
                },
                false => Taken::All,
            },
            accounts: [Account::default(); MAX_SENDERS],
        }
    }

    /// Adds a sender at a slot.
    pub(crate) fn join(&mut self, place: u8) {
        self.accounts[usize::from(place)] = Account::default();
    }

    /// Removes a sender; `alone` if it was the last.
    pub(crate) fn leave(&mut self, sender: SenderIndex, place: u8, alone: bool) {
        self.join(place);
        self.orphaned |= alone;
        if let Taken::One {
            active,
            staged,
            draining,
        } = &mut self.taken
        {
            active.take_if(|active| *active == sender);
            staged.take_if(|staged| staged.sender == sender);
            draining.take_if(|draining| draining.sender == sender);
        }
    }

    /// Takes frames from this sender from the first on.
    pub(crate) fn activate(&mut self, sender: SenderIndex) {
        if let Taken::One { active, .. } = &mut self.taken {
            *active = Some(sender);
        }
    }

    /// Reassembles frames of this sender, to take them from the first complete one on; or of none.
    pub(crate) fn stage(&mut self, sender: Option<(SenderIndex, u8)>) {
        if let Taken::One { staged, .. } = &mut self.taken {
            *staged = sender.map(|(sender, place)| {
                Box::new(Staged {
                    sender,
                    place,
                    frames: Frames::new(self.limits),
                    whole: None,
                })
            });
        }
        if let Some((_, place)) = sender {
            self.join(place);
        }
    }

    /// Switches to the next sender if it has delivered a complete frame: returns the number of the first frame
    /// that is taken from it, and what is added to its numbers.
    pub(crate) fn take_over(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        let Taken::One {
            active,
            staged,
            draining,
        } = &mut self.taken
        else {
            return None;
        };
        let whole = staged.as_ref()?.whole?;
        let mut new = staged.take()?;
        let shift = self.shift;
        let number = whole.wrapping_add(self.shift);
        let number = match self.frames.head() {
            None => number,
            // It is a little behind, and goes on with the frame that is next.
            Some(head) if number < head && head - number <= LITTLE_BEHIND => head,
            Some(_) if self.frames.has_room(number) => number,
            // Other numbers begin behind all that there is.
            Some(_) => {
                self.shift = self.frames.reached().wrapping_sub(whole);
                self.frames.reached()
            }
        };
        *draining = active.map(|sender| Draining {
            sender,
            shift,
            until: number,
        });
        *active = Some(new.sender);
        let first = number.wrapping_sub(self.shift);
        self.frames.go_on_with(number, &mut new.frames, first);
        // Its frames have other numbers from now on.
        let account = &mut self.accounts[usize::from(new.place)];
        (account.frame, account.symbol) = (None, None);
        (self.fitted_ns, self.orphaned) = (now_ns, false);
        Some((number, self.shift))
    }

    fn role(&self, sender: SenderIndex) -> Role {
        let Taken::One {
            active,
            staged,
            draining,
        } = &self.taken
        else {
            return Role::Taken;
        };
        if *active == Some(sender) {
            return Role::Taken;
        }
        if staged.as_ref().is_some_and(|staged| staged.sender == sender) {
            return Role::Staged;
        }
        match draining {
            Some(draining) if draining.sender == sender => Role::Draining(*draining),
            _ => Role::Unwanted,
        }
    }

    /// Puts a payload into its frame. Returns the output number of its frame, if it has one.
    pub(crate) fn place(&mut self, incoming: &Incoming<'_>) -> (Placed, Option<u64>) {
        if !self.frames.fits(incoming.framing, incoming.payload.len()) {
            return (Placed::Malformed, None);
        }
        match self.role(incoming.sender) {
            Role::Taken => self.take(incoming),
            Role::Staged => self.take_staged(incoming),
            Role::Draining(draining) => self.take_draining(incoming, &draining),
            Role::Unwanted => (Placed::Unwanted, None),
        }
    }

    fn take(&mut self, incoming: &Incoming<'_>) -> (Placed, Option<u64>) {
        let number = match self.number(incoming) {
            Ok(number) => number,
            Err(placed) => return (placed, None),
        };
        self.note(incoming, number);
        let account = self.accounts[usize::from(incoming.place)];
        let lag_ns = self
            .longest_lag_ns(incoming.now_ns)
            .saturating_sub(account.lag_ns);
        let stamp = incoming.stamp(self.latency_ns + lag_ns, account.rest_ns(incoming, number));
        let placed = self
            .frames
            .place(number, incoming.framing, incoming.payload, &stamp);
        let account = &mut self.accounts[usize::from(incoming.place)];
        account.symbol = account.symbol.max(Some(incoming.symbol));
        (placed, Some(number))
    }

    /// The output number of a packet's frame.
    fn number(&mut self, incoming: &Incoming<'_>) -> Result<u64, Placed> {
        let Some(head) = self.frames.head() else {
            let number = u64::from(incoming.framing.frame);
            self.frames.begin(incoming.first_frame(number, &self.limits));
            self.fitted_ns = incoming.now_ns;
            return Ok(number);
        };
        let own = Sequence(incoming.framing.frame).extend(head.wrapping_sub(self.shift));
        let number = own.wrapping_add(self.shift);
        let known = number < self.frames.reached();
        if self.frames.has_room(number) && !(self.orphaned && known) {
            (self.fitted_ns, self.orphaned) = (incoming.now_ns, false);
            return Ok(number);
        }
        if !self.is_astray(incoming) {
            return if number < head {
                Ok(number)
            } else {
                Err(Placed::NoRoom)
            };
        }
        self.begin_anew(incoming, own, number)
    }

    /// Whether a packet shows that its sender has restarted its numbering: no packet has continued it for
    /// some time, and it is newer than all that this sender has brought of them.
    fn is_astray(&self, incoming: &Incoming<'_>) -> bool {
        let patience_ns = ASTRAY_NS.max(2 * self.latency_ns);
        let over = self.orphaned || incoming.now_ns.saturating_sub(self.fitted_ns) > patience_ns;
        let newest = self.accounts[usize::from(incoming.place)].symbol;
        over && newest.is_none_or(|newest| incoming.symbol > newest)
    }

    /// Goes on with a sender's number `own`, which would be `number` so far: where it lies not too far ahead, what is
    /// between is lost; else it follows what there is.
    fn begin_anew(&mut self, incoming: &Incoming<'_>, own: u64, number: u64) -> Result<u64, Placed> {
        let reached = self.frames.reached();
        let ahead = number.checked_sub(reached).is_some_and(|gap| gap < LONGEST_GAP);
        if ahead && !self.frames.has_room(number) {
            if !self.frames.jump(number) {
                return Err(Placed::NoRoom);
            }
        } else {
            self.shift = reached.wrapping_sub(incoming.first_frame(own, &self.limits));
        }
        (self.fitted_ns, self.orphaned) = (incoming.now_ns, false);
        let number = own.wrapping_add(self.shift);
        if self.frames.has_room(number) {
            Ok(number)
        } else {
            Err(Placed::NoRoom)
        }
    }

    fn take_staged(&mut self, incoming: &Incoming<'_>) -> (Placed, Option<u64>) {
        let Taken::One {
            staged: Some(staged), ..
        } = &mut self.taken
        else {
            return (Placed::Unwanted, None);
        };
        let near = staged.frames.head().unwrap_or(u64::from(incoming.framing.frame));
        let number = Sequence(incoming.framing.frame).extend(near);
        if staged.frames.head().is_some_and(|head| number >= head) && !staged.frames.has_room(number) {
            // None of these was complete, or the numbering has restarted.
            staged.frames = Frames::new(self.limits);
        }
        staged.frames.begin(number.saturating_sub(1));
        let account = &mut self.accounts[usize::from(incoming.place)];
        if incoming.original {
            account.note(incoming, number);
        }
        let stamp = incoming.stamp(self.latency_ns, account.rest_ns(incoming, number));
        let placed = staged
            .frames
            .place(number, incoming.framing, incoming.payload, &stamp);
        if placed == Placed::Whole {
            staged.whole = staged.whole.or(Some(number));
        }
        (placed, Some(number))
    }

    fn take_draining(&mut self, incoming: &Incoming<'_>, draining: &Draining) -> (Placed, Option<u64>) {
        let near = draining.until.wrapping_sub(draining.shift);
        let number = Sequence(incoming.framing.frame)
            .extend(near)
            .wrapping_add(draining.shift);
        if number >= draining.until || !self.frames.has_room(number) {
            return (Placed::Unwanted, None);
        }
        let stamp = incoming.stamp(self.latency_ns, 0);
        let placed = self
            .frames
            .place(number, incoming.framing, incoming.payload, &stamp);
        (placed, Some(number))
    }

    /// Learns how long a sender's frames take, and how much later than the first sender it brings one. One that is more
    /// than a latency behind is not waited for.
    fn note(&mut self, incoming: &Incoming<'_>, number: u64) {
        if !incoming.original {
            return;
        }
        let first_ns = self.frames.sent_ns(number).unwrap_or(incoming.sent_ns);
        let account = &mut self.accounts[usize::from(incoming.place)];
        if !account.note(incoming, number) {
            return;
        }
        let lag_ns = incoming.sent_ns.saturating_sub(first_ns);
        account.lag_ns = if lag_ns > self.latency_ns {
            0
        } else {
            follow(account.lag_ns, lag_ns)
        };
    }

    /// The largest lag of the present senders.
    fn longest_lag_ns(&self, now_ns: u64) -> u64 {
        let there = self.accounts.iter().filter(|account| account.is_there(now_ns));
        there.map(|account| account.lag_ns).max().unwrap_or(0)
    }

    /// How long another sender may still deliver packets that this one lost.
    pub(crate) fn patience_ns(&self, place: u8, now_ns: u64) -> u64 {
        let own = usize::from(place);
        let others = self
            .accounts
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != own);
        let mut lags_ns = others
            .filter(|(_, other)| other.is_there(now_ns))
            .map(|(_, other)| other.lag_ns);
        match (&self.taken, lags_ns.next()) {
            (Taken::All, Some(first)) => {
                let longest_ns = lags_ns.fold(first, u64::max);
                longest_ns.saturating_sub(self.accounts[own].lag_ns) + TOGETHER_NS
            }
            _ => 0,
        }
    }

    /// Whether a symbol of a sender is needed.
    pub(crate) fn need(&self, sender: SenderIndex, position: Position) -> Need {
        let role = self.role(sender);
        let Position::Packet { frame, index } = position else {
            return match role {
                Role::Unwanted => Need::Had,
                _ => Need::Wanted,
            };
        };
        match (role, &self.taken) {
            (Role::Taken, _) => self.frames.need(frame, index),
            (Role::Draining(draining), _) if frame < draining.until => self.frames.need(frame, index),
            (
                Role::Staged,
                Taken::One {
                    staged: Some(staged), ..
                },
            ) => staged.frames.need(frame, index),
            _ => Need::Had,
        }
    }

    /// The output number of a sender's frame, as far as known.
    pub(crate) fn number_of(&self, frame: u32) -> u64 {
        let Some(head) = self.frames.head() else {
            return frame.into();
        };
        Sequence(frame)
            .extend(head.wrapping_sub(self.shift))
            .wrapping_add(self.shift)
    }

    /// The deadline of all packets sent by `now_ns`.
    pub(crate) fn deadline_ns(&self, now_ns: u64) -> u64 {
        now_ns + self.latency_ns + self.longest_lag_ns(now_ns)
    }
}

impl Incoming<'_> {
    /// Its frame's last packet is sent `rest_ns` after it, and is waited for `wait_ns` more.
    fn stamp(&self, wait_ns: u64, rest_ns: u64) -> Stamp {
        Stamp {
            now_ns: self.now_ns,
            sent_ns: self.sent_ns,
            deadline_ns: self.sent_ns + wait_ns,
            expected_ns: self.sent_ns + wait_ns + rest_ns,
            original: self.original,
            sender: self.sender,
            mark: 1 << (self.place % 8),
        }
    }

    /// The number of its sender's first frame, if its symbols are known from the first on, all frames before this one
    /// were as long, and there is room for them; else this one's, `number`.
    fn first_frame(&self, number: u64, limits: &FrameLimits) -> u64 {
        let packets = self.framing.frame_length.div_ceil(limits.payload).max(1);
        let index = self.framing.offset / limits.payload;
        let before = self.symbol.saturating_sub(index.into()) / u64::from(packets);
        if self.from_start && before < limits.frames as u64 {
            number.saturating_sub(before)
        } else {
            number
        }
    }
}
