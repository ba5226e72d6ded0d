//! Selection of one sender among several: when the active one fails, which one follows, and when to switch
//! back. It must not know frames; the caller reports when the next sender has delivered a complete one.

use std::collections::VecDeque;

use crate::terms::{SenderIndex, SwitchReason};

/// When a sender counts as failing, and when to switch back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchLimits {
    /// Failing after this long without authentic packets while a stream is expected, nanoseconds.
    pub silence_ns: u64,
    /// Failing with a residual loss rate of its source packets above this, 0 to 1,
    pub unrepaired_share: f64,
    /// over this time, nanoseconds.
    pub over_ns: u64,
    /// A preferred sender is switched back to after it has been stable for this long, nanoseconds. Twice
    /// as long after each new failure, up to 16 times.
    pub back_after_ns: u64,
}

impl Default for SwitchLimits {
    /// Silence of 50 ms, or a residual loss of 0.1 % over 1 s; back after 10 s.
    fn default() -> Self {
        SwitchLimits {
            silence_ns: 50_000_000,
            unrepaired_share: 0.001,
            over_ns: 1_000_000_000,
            back_after_ns: 10_000_000_000,
        }
    }
}

/// Orders to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Tell a sender whether to send.
    Wanted(SenderIndex, bool),
    /// Reassemble frames of this sender, until one is complete; or of none.
    Stage(Option<SenderIndex>),
    /// Take frames from this sender, from the first on.
    Activate(SenderIndex),
}

/// Maximum number of times that `back_after_ns` is doubled.
const MOST_DOUBLINGS: u32 = 4;
/// Parts of `over_ns` in which residual loss is counted.
const PARTS: u64 = 8;
const LEAST_PART_NS: u64 = 1_000_000;
/// Minimum wait for a complete frame of the next sender, nanoseconds: it may be far away, or
/// have to start.
const LEAST_PATIENCE_NS: u64 = 500_000_000;

#[derive(Clone, Debug)]
struct Member {
    sender: SenderIndex,
    rank: u16,
    /// Since when it has been present and not failing, as far as known.
    able_ns: u64,
    failures: u32,
    heard_ns: Option<u64>,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    sender: SenderIndex,
    why: SwitchReason,
    since_ns: u64,
}

/// The counters of the active sender at a time.
#[derive(Clone, Copy, Debug)]
struct Count {
    at_ns: u64,
    packets: u64,
    unrepaired: u64,
}

/// The selection among senders.
#[derive(Clone, Debug)]
pub(crate) struct Switch {
    limits: SwitchLimits,
    members: Vec<Member>,
    active: Option<SenderIndex>,
    active_ns: u64,
    /// The active one before it was removed, until another follows.
    removed: Option<SenderIndex>,
    target: Option<Target>,
    counts: VecDeque<Count>,
    orders: VecDeque<Order>,
}

impl Switch {
    /// No senders.
    pub(crate) fn new(limits: SwitchLimits) -> Self {
        Switch {
            limits,
            members: Vec::new(),
            active: None,
            active_ns: 0,
            removed: None,
            target: None,
            counts: VecDeque::new(),
            orders: VecDeque::new(),
        }
    }

    /// The next order; call until there is none.
    pub(crate) fn poll_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// The sender whose frames are taken.
    pub(crate) fn active(&self) -> Option<SenderIndex> {
        self.active
    }

    fn member(&self, sender: SenderIndex) -> Option<&Member> {
        self.members.iter().find(|member| member.sender == sender)
    }

    fn member_mut(&mut self, sender: SenderIndex) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.sender == sender)
    }

    /// Adds a sender.
    pub(crate) fn add(&mut self, now_ns: u64, sender: SenderIndex, rank: u16) {
        self.members.push(Member {
            sender,
            rank,
            able_ns: now_ns,
            failures: 0,
            heard_ns: None,
            ended: false,
        });
        if self.active.is_none() && self.removed.is_none() {
            self.activate(now_ns, sender);
            self.orders.push_back(Order::Activate(sender));
            self.orders.push_back(Order::Wanted(sender, true));
        } else if self.active.is_some() || self.target.is_some() {
            self.orders.push_back(Order::Wanted(sender, false));
        }
    }

    fn activate(&mut self, now_ns: u64, sender: SenderIndex) {
        (self.active, self.active_ns, self.removed) = (Some(sender), now_ns, None);
        self.counts.clear();
    }

    /// Removes a sender.
    pub(crate) fn remove(&mut self, sender: SenderIndex) {
        let ended = self.member(sender).is_some_and(|member| member.ended);
        self.members.retain(|member| member.sender != sender);
        if self.target.is_some_and(|target| target.sender == sender) {
            self.target = None;
            self.orders.push_back(Order::Stage(None));
        }
        if self.active == Some(sender) {
            self.active = None;
            // After the end of the stream the next sender starts another one, as the first did.
            self.removed = (!ended).then_some(sender);
        }
    }

    /// An authentic packet has arrived.
    pub(crate) fn heard(&mut self, now_ns: u64, sender: SenderIndex) {
        if let Some(member) = self.member_mut(sender) {
            member.heard_ns = Some(now_ns);
        }
    }

    /// Whether a sender's stream has ended.
    pub(crate) fn ended(&mut self, sender: SenderIndex, ended: bool) {
        if let Some(member) = self.member_mut(sender) {
            member.ended = ended;
        }
    }

    /// Counts of the active sender, which only grow while it is active: source packets that are settled, and of these,
    /// those that were not repaired.
    pub(crate) fn count(&mut self, now_ns: u64, packets: u64, unrepaired: u64) {
        let part_ns = self.part_ns();
        if self
            .counts
            .back()
            .is_some_and(|last| now_ns < last.at_ns + part_ns)
        {
            return;
        }
        self.counts.push_back(Count {
            at_ns: now_ns,
            packets,
            unrepaired,
        });
        while self
            .counts
            .get(1)
            .is_some_and(|second| second.at_ns + self.limits.over_ns <= now_ns)
        {
            self.counts.pop_front();
        }
    }

    fn part_ns(&self) -> u64 {
        (self.limits.over_ns / PARTS).max(LEAST_PART_NS)
    }

    fn loses_too_much(&self, now_ns: u64) -> bool {
        let (Some(first), Some(last)) = (self.counts.front(), self.counts.back()) else {
            return false;
        };
        let packets = last.packets.saturating_sub(first.packets) as f64;
        let unrepaired = last.unrepaired.saturating_sub(first.unrepaired) as f64;
        first.at_ns + self.limits.over_ns <= now_ns && unrepaired > self.limits.unrepaired_share * packets
    }

    /// When the active sender counts as silent, if no packet arrives.
    fn silent_from_ns(&self) -> Option<u64> {
        let active = self.member(self.active?)?;
        let heard_ns = active.heard_ns.unwrap_or(0).max(self.active_ns);
        (!active.ended).then_some(heard_ns + self.limits.silence_ns)
    }

    /// Why to switch away from the active sender.
    fn failing(&self, now_ns: u64) -> Option<SwitchReason> {
        let Some(active) = self.active else {
            return self.removed.map(|_| SwitchReason::Removed);
        };
        if self.member(active)?.ended {
            return None;
        }
        if self.silent_from_ns()? <= now_ns {
            return Some(SwitchReason::Silence);
        }
        self.loses_too_much(now_ns).then_some(SwitchReason::Unrepaired)
    }

    /// When to switch back to a member.
    fn back_ns(&self, member: &Member) -> u64 {
        let doublings = member.failures.saturating_sub(1).min(MOST_DOUBLINGS);
        member
            .able_ns
            .saturating_add(self.limits.back_after_ns.saturating_mul(1 << doublings))
    }

    /// Whether a member has not failed recently.
    fn is_rested(&self, now_ns: u64, member: &Member) -> bool {
        member.failures == 0 || self.back_ns(member) <= now_ns
    }

    /// A sender to switch back to: preferred over the active one, and stable for long enough.
    fn preferred(&self) -> Option<&Member> {
        let rank = self.member(self.active?)?.rank;
        let before = self
            .members
            .iter()
            .filter(|member| member.rank < rank && !member.ended);
        before.min_by_key(|member| self.back_ns(member))
    }

    /// The next sender when the active one fails: the first that works, or else the one that has not been
    /// tried for longest.
    fn candidate(&self, now_ns: u64, besides: Option<SenderIndex>) -> Option<SenderIndex> {
        let others = self.members.iter().filter(|member| {
            Some(member.sender) != self.active && Some(member.sender) != besides && !member.ended
        });
        let best = others.min_by_key(|member| {
            let rested = self.is_rested(now_ns, member);
            (
                !rested,
                if rested { 0 } else { member.able_ns },
                member.rank,
                member.sender,
            )
        });
        best.map(|member| member.sender)
    }

    /// Decides by the time.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        let failing = self.failing(now_ns);
        if let Some(target) = self.target {
            self.judge_target(now_ns, target, failing);
        }
        if self.target.is_some() {
            return;
        }
        if let Some(why) = failing {
            let able = |sender: &SenderIndex| {
                // A sender with losses is better than none, and no worse than another one with losses.
                let rested = self
                    .member(*sender)
                    .is_some_and(|member| self.is_rested(now_ns, member));
                why != SwitchReason::Unrepaired || rested
            };
            if let Some(sender) = self.candidate(now_ns, None).filter(able) {
                self.aim(now_ns, sender, why);
            }
        } else if let Some(member) = self.preferred()
            && self.back_ns(member) <= now_ns
        {
            let sender = member.sender;
            self.aim(now_ns, sender, SwitchReason::Back);
        }
    }

    fn aim(&mut self, now_ns: u64, sender: SenderIndex, why: SwitchReason) {
        self.target = Some(Target {
            sender,
            why,
            since_ns: now_ns,
        });
        self.orders.push_back(Order::Stage(Some(sender)));
        self.orders.push_back(Order::Wanted(sender, true));
    }

    fn give_up(&mut self, now_ns: u64, target: Target) {
        self.target = None;
        self.orders.push_back(Order::Stage(None));
        self.orders.push_back(Order::Wanted(target.sender, false));
        if let Some(member) = self.member_mut(target.sender) {
            member.able_ns = now_ns;
            member.failures += 1;
        }
    }

    /// The next sender is no longer needed, or delivers nothing.
    fn judge_target(&mut self, now_ns: u64, target: Target, failing: Option<SwitchReason>) {
        let recovered = target.why == SwitchReason::Silence && failing.is_none();
        let vain = now_ns >= target.since_ns + self.patience_ns();
        if recovered {
            self.target = None;
            self.orders.push_back(Order::Stage(None));
            self.orders.push_back(Order::Wanted(target.sender, false));
        } else if vain && target.why == SwitchReason::Back {
            self.give_up(now_ns, target);
        } else if vain && let Some(other) = self.candidate(now_ns, Some(target.sender)) {
            self.give_up(now_ns, target);
            self.aim(now_ns, other, target.why);
        } else if vain && let Some(target) = &mut self.target {
            // There is no other sender.
            target.since_ns = now_ns;
        } else if target.why == SwitchReason::Back
            && let (Some(why), Some(target)) = (failing, &mut self.target)
        {
            (target.why, target.since_ns) = (why, now_ns);
        }
    }

    /// How long to wait for a complete frame of the next sender.
    fn patience_ns(&self) -> u64 {
        (4 * self.limits.silence_ns).max(LEAST_PATIENCE_NS)
    }

    /// Switches to the next sender, which has delivered a complete frame. Returns the previous sender, the new one,
    /// and the reason.
    pub(crate) fn take_over(&mut self, now_ns: u64) -> Option<(SenderIndex, SenderIndex, SwitchReason)> {
        let target = self.target.take()?;
        let from = self.active.or(self.removed)?;
        let lasted = now_ns.saturating_sub(self.active_ns) >= self.limits.back_after_ns << MOST_DOUBLINGS;
        if let Some(before) = self.member_mut(from) {
            before.able_ns = now_ns;
            if target.why != SwitchReason::Back {
                before.failures = if lasted { 1 } else { before.failures + 1 };
            }
            self.orders.push_back(Order::Wanted(from, false));
        }
        self.activate(now_ns, target.sender);
        Some((from, target.sender, target.why))
    }

    /// When to [`tick`](Self::tick) next, if nothing happens until then.
    pub(crate) fn next_wake(&self) -> Option<u64> {
        let part_ns = self.active.map(|_| {
            let last = self.counts.back().map_or(0, |last| last.at_ns);
            last + self.part_ns()
        });
        if let Some(target) = self.target {
            return Some(target.since_ns + self.patience_ns()).min(part_ns.or(Some(u64::MAX)));
        }
        let others = self.members.iter().filter(|member| !member.ended).count() > 1;
        let silent_ns = self.silent_from_ns().filter(|_| others);
        let back_ns = self.preferred().map(|member| self.back_ns(member));
        [part_ns, back_ns, silent_ns].into_iter().flatten().min()
    }
}
