//! Rounds of disjoint pairs: no host is in two tests of a round. Pure; it knows numbers of hosts and nothing about them.
//!
//! This is edge colouring of a multigraph: hosts are vertices, tests are edges, a round is a colour. No schedule has fewer
//! rounds than the tests of the busiest host, nor than the tests over half the hosts. Pairs get the first round in which
//! both hosts are free; where there is none within the bound, an alternating path is swapped (Kempe), as in the proofs of
//! Shannon (1949) and Vizing (1964), before a round is added.

/// Two hosts by their numbers; the first is the client.
pub type Pair = (usize, usize);

/// Most pairs of rounds that are tried for one test before a round is added.
const MOST_SWAPS: usize = 400;
const FREE: u32 = u32::MAX;

/// No schedule can have fewer rounds.
pub fn fewest_rounds(pairs: &[Pair]) -> usize {
    let hosts = pairs.iter().map(|pair| pair.0.max(pair.1) + 1).max().unwrap_or(0);
    let mut tests = vec![0usize; hosts];
    for (from, to) in pairs {
        tests[*from] += 1;
        tests[*to] += 1;
    }
    let busy = tests.iter().filter(|tests| **tests > 0).count();
    let busiest = tests.into_iter().max().unwrap_or(0);
    busiest.max(pairs.len().div_ceil((busy / 2).max(1)))
}

/// Puts pairs, of which those that matter most come first, into rounds: indices into `pairs`, each once. Rounds with the
/// earlier pairs come first. A pair of a host with itself is in no round.
pub fn rounds(pairs: &[Pair]) -> Vec<Vec<usize>> {
    let mut table = Table::new(pairs);
    for (edge, (from, to)) in pairs.iter().enumerate() {
        if from != to {
            table.place(edge);
        }
    }
    table.into_rounds()
}

struct Table<'p> {
    pairs: &'p [Pair],
    /// By host, then by round: the test that it is in.
    at: Vec<Vec<u32>>,
    /// By test: its round.
    round: Vec<usize>,
    count: usize,
}

impl<'p> Table<'p> {
    fn new(pairs: &'p [Pair]) -> Table<'p> {
        let hosts = pairs.iter().map(|pair| pair.0.max(pair.1) + 1).max().unwrap_or(0);
        let count = fewest_rounds(pairs);
        Table {
            pairs,
            at: vec![vec![FREE; count]; hosts],
            round: vec![usize::MAX; pairs.len()],
            count,
        }
    }

    fn place(&mut self, edge: usize) {
        let (from, to) = self.pairs[edge];
        let round = self
            .free_at_both(from, to)
            .or_else(|| self.make_free(from, to))
            .unwrap_or_else(|| self.add_round());
        self.set(edge, round);
    }

    fn free_at_both(&self, from: usize, to: usize) -> Option<usize> {
        (0..self.count).find(|round| self.at[from][*round] == FREE && self.at[to][*round] == FREE)
    }

    /// Swaps an alternating path from `to`, so that a round that is free at `from` becomes free at `to` too.
    fn make_free(&mut self, from: usize, to: usize) -> Option<usize> {
        let (at_from, at_to) = (self.free(from), self.free(to));
        let tried = at_from
            .iter()
            .flat_map(|first| at_to.iter().map(move |second| (*first, *second)))
            .take(MOST_SWAPS);
        for (wanted, spare) in tried {
            let (path, end) = self.path(to, wanted, spare);
            if end != from {
                self.swap(&path, wanted, spare);
                return Some(wanted);
            }
        }
        None
    }

    /// Rounds in which a host is in no test.
    fn free(&self, host: usize) -> Vec<usize> {
        (0..self.count)
            .filter(|round| self.at[host][*round] == FREE)
            .collect()
    }

    /// The tests of rounds `first`, `second`, `first` ... from `host` on, and where they end.
    fn path(&self, host: usize, first: usize, second: usize) -> (Vec<usize>, usize) {
        let (mut path, mut host, mut round) = (Vec::new(), host, first);
        // It cannot come back to a host: each has one test in a round, and the first has none in `second`.
        while self.at[host][round] != FREE {
            let edge = self.at[host][round] as usize;
            path.push(edge);
            let (from, to) = self.pairs[edge];
            host = if from == host { to } else { from };
            round = if round == first { second } else { first };
        }
        (path, host)
    }

    fn swap(&mut self, path: &[usize], first: usize, second: usize) {
        let swapped: Vec<(usize, usize)> = path
            .iter()
            .map(|edge| (*edge, if self.round[*edge] == first { second } else { first }))
            .collect();
        for edge in path {
            let ((from, to), round) = (self.pairs[*edge], self.round[*edge]);
            (self.at[from][round], self.at[to][round]) = (FREE, FREE);
        }
        for (edge, round) in swapped {
            self.set(edge, round);
        }
    }

    fn set(&mut self, edge: usize, round: usize) {
        let (from, to) = self.pairs[edge];
        // More than 2^32 - 1 tests do not fit in memory.
        (self.at[from][round], self.at[to][round]) = (edge as u32, edge as u32);
        self.round[edge] = round;
    }

    fn add_round(&mut self) -> usize {
        for rounds in &mut self.at {
            rounds.push(FREE);
        }
        self.count += 1;
        self.count - 1
    }

    fn into_rounds(self) -> Vec<Vec<usize>> {
        let mut rounds = vec![Vec::new(); self.count];
        for (edge, round) in self.round.iter().enumerate() {
            if *round != usize::MAX {
                rounds[*round].push(edge);
            }
        }
        rounds.retain(|round: &Vec<usize>| !round.is_empty());
        // By the mean place of their pairs: what matters most is tested first.
        let mean = |round: &Vec<usize>| round.iter().sum::<usize>() / round.len().max(1);
        rounds.sort_by_key(mean);
        rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_valid(pairs: &[Pair], rounds: &[Vec<usize>]) {
        let mut seen = vec![0; pairs.len()];
        for round in rounds {
            let mut busy = std::collections::BTreeSet::new();
            for index in round {
                seen[*index] += 1;
                let (from, to) = pairs[*index];
                assert!(busy.insert(from) && busy.insert(to), "a host is twice in a round");
            }
        }
        assert!(seen.iter().all(|times| *times == 1), "every pair is tested once");
    }

    fn all_directed(hosts: usize) -> Vec<Pair> {
        (0..hosts)
            .flat_map(|from| (0..hosts).filter(move |to| *to != from).map(move |to| (from, to)))
            .collect()
    }

    #[test]
    fn all_pairs_of_150_regions_take_at_most_five_per_cent_more_rounds_than_they_must() {
        let pairs = all_directed(150);
        assert_eq!(pairs.len(), 22_350);
        assert_eq!(fewest_rounds(&pairs), 298);
        let rounds = rounds(&pairs);
        assert_valid(&pairs, &rounds);
        assert!(rounds.len() * 100 <= 298 * 105, "{} rounds", rounds.len());
    }

    #[test]
    fn an_odd_number_of_hosts_one_hub_and_one_direction_do_too() {
        let odd = all_directed(31);
        let one_way: Vec<Pair> = all_directed(64)
            .into_iter()
            .filter(|(from, to)| from < to)
            .collect();
        let hub: Vec<Pair> = (1..40).flat_map(|host| [(0, host), (host, 0)]).collect();
        for pairs in [odd, one_way, hub] {
            let (rounds, fewest) = (rounds(&pairs), fewest_rounds(&pairs));
            assert_valid(&pairs, &rounds);
            assert!(
                rounds.len() * 100 <= fewest * 105 + 100,
                "{} of {fewest}",
                rounds.len()
            );
        }
        assert!(rounds(&[]).is_empty() && rounds(&[(3, 3)]).is_empty());
    }

    #[test]
    fn what_matters_most_is_in_the_first_rounds() {
        let pairs = all_directed(20);
        let rounds = rounds(&pairs);
        let position = |index: usize| rounds.iter().position(|round| round.contains(&index)).unwrap();
        let mean = |range: std::ops::Range<usize>| range.clone().map(position).sum::<usize>() / range.len();
        assert!(mean(0..95) < mean(285..380));
    }

    proptest! {
        #[test]
        fn any_pairs_get_valid_rounds(pairs in prop::collection::vec((0usize..24, 0usize..24), 0..300)) {
            let pairs: Vec<Pair> = pairs.into_iter().filter(|(from, to)| from != to).collect();
            let (rounds, fewest) = (rounds(&pairs), fewest_rounds(&pairs));
            assert_valid(&pairs, &rounds);
            // Shannon's bound for multigraphs is one and a half times the busiest host's tests.
            prop_assert!(rounds.len() <= fewest * 3 / 2 + 1, "{} of {}", rounds.len(), fewest);
        }
    }
}
