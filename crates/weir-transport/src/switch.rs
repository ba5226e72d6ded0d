//! Which of several senders is wanted, where only one is at a time: when it is failing, which one follows, and when to go
//! back. It must not know frames; it is told when the one that is to follow has brought a whole one.

use std::collections::VecDeque;

use crate::SenderIndex;

/// When a sender is failing, and when it is wanted again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchLimits {
    /// It is failing if nothing authentic came for so long while a stream was expected, nanoseconds.
    pub silence_ns: u64,
    /// And if more than this share of its source packets, 0 to 1, stays lost in spite of all repair,
    pub unrepaired_share: f64,
    /// over so long, nanoseconds.
    pub over_ns: u64,
    /// A sender that comes before the one in use is wanted again after it has been there for so long, nanoseconds. Twice
    /// as long after each time that it failed again, up to 16 times.
    pub back_after_ns: u64,
}

impl Default for SwitchLimits {
    /// Silent for 50 ms, or a thousandth lost over a second; back after ten seconds.
    fn default() -> Self {
        SwitchLimits {
            silence_ns: 50_000_000,
            unrepaired_share: 0.001,
            over_ns: 1_000_000_000,
            back_after_ns: 10_000_000_000,
        }
    }
}

/// Why frames are taken from another sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchReason {
    /// Nothing came from the one before.
    Silence,
    /// Too much of what the one before sent stayed lost.
    Unrepaired,
    /// The one before was removed.
    Removed,
    /// The other one comes first, and has been there again for long enough.
    Back,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Tell a sender whether it is to send.
    Wanted(SenderIndex, bool),
    /// Put together frames of this sender, until it has brought a whole one; or of none.
    Stage(Option<SenderIndex>),
    /// Take frames from this one, from the first on.
    Activate(SenderIndex),
}

/// How many times `back_after_ns` is doubled at most.
const MOST_DOUBLINGS: u32 = 4;
/// Parts of `over_ns` in which what stays lost is counted.
const PARTS: u64 = 8;
const LEAST_PART_NS: u64 = 1_000_000;
/// A whole frame of the sender that is to follow is waited for at least this long, nanoseconds: it may be far away, or
/// have to begin.
const LEAST_PATIENCE_NS: u64 = 500_000_000;

#[derive(Clone, Debug)]
struct Member {
    sender: SenderIndex,
    rank: u16,
    /// Since when it has been there and not failing, as far as is known.
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

/// What had come of the active sender at a time.
#[derive(Clone, Copy, Debug)]
struct Count {
    at_ns: u64,
    packets: u64,
    unrepaired: u64,
}

/// The choice among senders.
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

    /// What is to be done, one by one.
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

    /// There is a new sender.
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

    /// A sender has gone.
    pub(crate) fn remove(&mut self, sender: SenderIndex) {
        let ended = self.member(sender).is_some_and(|member| member.ended);
        self.members.retain(|member| member.sender != sender);
        if self.target.is_some_and(|target| target.sender == sender) {
            self.target = None;
            self.orders.push_back(Order::Stage(None));
        }
        if self.active == Some(sender) {
            self.active = None;
            // After the end of the stream the next sender begins another one, as the first did.
            self.removed = (!ended).then_some(sender);
        }
    }

    /// Something authentic came.
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

    /// Counts of the active sender, which only grow while it is active: source packets that are settled, and of these, those that
    /// stayed lost.
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

    /// When the active sender has been silent for too long, if nothing comes.
    fn silent_from_ns(&self) -> Option<u64> {
        let active = self.member(self.active?)?;
        let heard_ns = active.heard_ns.unwrap_or(0).max(self.active_ns);
        (!active.ended).then_some(heard_ns + self.limits.silence_ns)
    }

    /// Why frames are to be taken from another sender than the active one.
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

    /// When a member may be gone back to.
    fn back_ns(&self, member: &Member) -> u64 {
        let doublings = member.failures.saturating_sub(1).min(MOST_DOUBLINGS);
        member
            .able_ns
            .saturating_add(self.limits.back_after_ns.saturating_mul(1 << doublings))
    }

    /// Whether a member has not failed of late.
    fn is_rested(&self, now_ns: u64, member: &Member) -> bool {
        member.failures == 0 || self.back_ns(member) <= now_ns
    }

    /// A sender to go back to: it comes before the active one, and has been there for long enough.
    fn preferred(&self) -> Option<&Member> {
        let rank = self.member(self.active?)?.rank;
        let before = self
            .members
            .iter()
            .filter(|member| member.rank < rank && !member.ended);
        before.min_by_key(|member| self.back_ns(member))
    }

    /// Who is to follow the active sender when that is failing: the first that is able, or else the one that has not been
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

    /// Decides what the time brings.
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
                // A sender that loses some of its packets is better than none, and no worse than another that does.
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

    /// The one that is to follow is no longer needed, or brings nothing.
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
            // Nobody else is there.
            target.since_ns = now_ns;
        } else if target.why == SwitchReason::Back
            && let (Some(why), Some(target)) = (failing, &mut self.target)
        {
            (target.why, target.since_ns) = (why, now_ns);
        }
    }

    /// How long a whole frame of the one that is to follow is waited for.
    fn patience_ns(&self) -> u64 {
        (4 * self.limits.silence_ns).max(LEAST_PATIENCE_NS)
    }

    /// The one that is to follow has brought a whole frame: frames are taken from it. Gives whose they were, whose they
    /// are, and why.
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
    pub(crate) fn next_ns(&self) -> Option<u64> {
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
