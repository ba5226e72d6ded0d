//! The E-model: how people would rate a call, from its delay and its losses (ITU-T Recommendation G.107, 06/2015).
//! Everything about telephones and rooms has the Recommendation's default value. It must not know how delay and loss
//! were measured. Symbols are those of the Recommendation.

use serde::Serialize;

/// How well G.711 with packet loss concealment (its Appendix I) stands random loss: ITU-T G.113, Appendix I.
pub const G711_PLC_BPL: f64 = 25.1;

/// Send loudness rating, dB.
const SLR: f64 = 8.0;
/// Receive loudness rating, dB.
const RLR: f64 = 2.0;
/// Sidetone masking rating, dB.
const STMR: f64 = 15.0;
/// D-value of the telephones at both sides.
const DS: f64 = 3.0;
const DR: f64 = 3.0;
/// Talker echo loudness rating, dB.
const TELR: f64 = 65.0;
/// Weighted echo path loss, dB.
const WEPL: f64 = 110.0;
/// Quantizing distortion units.
const QDU: f64 = 1.0;
/// Circuit noise and noise floor at the receiver, dBm0p and dBmp.
const NC: f64 = -70.0;
const NFOR: f64 = -64.0;
/// Room noise at both sides, dB(A).
const PS: f64 = 35.0;
const PR: f64 = 35.0;
/// Delay that nobody notices, ms: the default of G.107.
const MT: f64 = 100.0;

/// What a network does to a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// From mouth to ear, one way, milliseconds: T and Ta. The round trip of echoes is twice this.
    pub delay_ms: f64,
    /// Share of packets lost or too late, 0 to 1: Ppl.
    pub loss: f64,
    /// Mean length of a run of losses over that of random losses: BurstR. 1 is random, more comes in bursts.
    pub burst_ratio: f64,
    /// Equipment impairment of the codec without loss: Ie.
    pub ie: f64,
    /// Robustness of the codec against loss: Bpl.
    pub bpl: f64,
}

/// A call as people would rate it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rating {
    /// Transmission rating factor: 93.2 at best with default values, below 50 nearly all users are dissatisfied.
    pub r: f64,
    /// Mean opinion score that is to be expected, 1 to 4.5.
    pub mos: f64,
    /// Impairment by delay.
    pub id: f64,
    /// Impairment by codec and loss.
    pub ie_eff: f64,
}

/// Rates a call: R = Ro - Is - Id - Ie,eff + A, with A = 0 (G.107, 7.1).
pub fn rate(call: &Call) -> Rating {
    let no = noise();
    let ro = 15.0 - 1.5 * (SLR + no);
    let id = delay_impairment(call.delay_ms.max(0.0), no, ro);
    let loss = 100.0 * call.loss.clamp(0.0, 1.0);
    let ie_eff = call.ie + (95.0 - call.ie) * loss / (loss / call.burst_ratio.max(1.0) + call.bpl);
    let r = ro - simultaneous_impairment(call.delay_ms.max(0.0), no, ro) - id - ie_eff;
    Rating {
        r,
        mos: mos(r),
        id,
        ie_eff,
    }
}

/// The mean opinion score of a rating factor (G.107, Annex B), at least 1.
pub fn mos(r: f64) -> f64 {
    match r {
        r if r <= 0.0 => 1.0,
        r if r >= 100.0 => 4.5,
        // Just above 0 the polynomial dips below 1.
        r => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

fn power(decibels: f64) -> f64 {
    10_f64.powf(decibels / 10.0)
}

/// All noise together, dBm0p: No (7.2).
fn noise() -> f64 {
    let olr = SLR + RLR;
    let nos = PS - SLR - DS - 100.0 + 0.004 * (PS - olr - DS - 14.0).powi(2);
    let lstr = STMR + DR;
    let pre = PR + 10.0 * (1.0 + power(10.0 - lstr)).log10();
    let nor = RLR - 121.0 + pre + 0.008 * (pre - 35.0).powi(2);
    let nfo = NFOR + RLR;
    10.0 * (power(NC) + power(nos) + power(nor) + power(nfo)).log10()
}

/// The form that several of its formulas have: (1 + x^n)^(1/n).
fn knee(x: f64, n: f64) -> f64 {
    (1.0 + x.powf(n)).powf(1.0 / n)
}

/// Is (7.3): too loud, sidetone, quantizing.
fn simultaneous_impairment(t_ms: f64, no: f64, ro: f64) -> f64 {
    let xolr = SLR + RLR + 0.2 * (64.0 + no - RLR);
    let iolr = 20.0 * (knee(xolr / 8.0, 8.0) - xolr / 8.0);
    let stmro = -10.0 * (power(-STMR) + (-t_ms / 4.0).exp() * power(-TELR)).log10();
    let ist = 12.0 * knee((stmro - 13.0) / 6.0, 8.0)
        - 28.0 * knee((stmro + 1.0) / 19.4, 35.0)
        - 13.0 * knee((stmro - 3.0) / 33.0, 13.0)
        + 29.0;
    let q = 37.0 - 15.0 * QDU.log10();
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let y = (ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
    let z = 46.0 / 30.0 - g / 40.0;
    let iq = 15.0 * (1.0 + 10_f64.powf(y) + 10_f64.powf(z)).log10();
    iolr + ist + iq
}

/// Id (7.4): talker echo, listener echo, and delay itself.
fn delay_impairment(t_ms: f64, no: f64, ro: f64) -> f64 {
    let terv =
        TELR - 40.0 * ((1.0 + t_ms / 10.0) / (1.0 + t_ms / 150.0)).log10() + 6.0 * (-0.3 * t_ms * t_ms).exp();
    let re = 80.0 + 2.5 * (terv - 14.0);
    let roe = -1.5 * (no - RLR);
    let half = (roe - re) / 2.0;
    let idte = (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - (-t_ms).exp());
    let rle = 10.5 * (WEPL + 7.0) * (2.0 * t_ms + 1.0).powf(-0.25);
    let half = (ro - rle) / 2.0;
    let idle = half + (half * half + 169.0).sqrt();
    idte + idle + absolute_delay(t_ms)
}

/// Idd (7.4) with the default sensitivity to delay.
fn absolute_delay(ta_ms: f64) -> f64 {
    if ta_ms <= MT {
        return 0.0;
    }
    let x = (ta_ms / MT).log2();
    25.0 * (knee(x, 6.0) - 3.0 * knee(x / 3.0, 6.0) + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERFECT: Call = Call {
        delay_ms: 0.0,
        loss: 0.0,
        burst_ratio: 1.0,
        ie: 0.0,
        bpl: G711_PLC_BPL,
    };

    /// G.107, 7.7: with all default values R is 93.2. An implementation in Go (github.com/manucorporat/e-model) prints
    /// 93.206208.
    #[test]
    fn default_values_give_the_published_rating() {
        let rating = rate(&PERFECT);
        assert!((rating.r - 93.206_208).abs() < 1e-6, "{rating:?}");
        assert_eq!(rating.ie_eff, 0.0);
    }

    /// G.107, Table B.1: the lower limits of the categories of user satisfaction, in which 4.024 is rounded to 4.03; and
    /// the score of 93.2.
    #[test]
    fn ratings_have_the_published_opinion_scores() {
        for (r, published) in [
            (90.0, 4.34),
            (80.0, 4.03),
            (70.0, 3.60),
            (60.0, 3.10),
            (50.0, 2.58),
            (93.2, 4.41),
        ] {
            assert!((mos(r) - published).abs() < 0.0065, "{r}: {}", mos(r));
        }
        assert_eq!(
            (mos(-5.0), mos(0.0), mos(3.0), mos(100.0), mos(120.0)),
            (1.0, 1.0, 1.0, 4.5, 4.5)
        );
    }

    /// Cole and Rosenbluth, "Voice over IP performance monitoring" (2001), fit the model without echo by two lines:
    /// Id = 0.024 d, and 0.11 for each ms beyond 177.3.
    #[test]
    fn delay_impairs_as_the_published_fit_says() {
        for delay_ms in [50.0, 100.0, 150.0, 200.0, 250.0, 300.0_f64] {
            let fitted = 93.2 - 0.024 * delay_ms - 0.11 * (delay_ms - 177.3).max(0.0);
            let rated = rate(&Call { delay_ms, ..PERFECT }).r;
            assert!(
                (rated - fitted).abs() < 0.5,
                "{delay_ms} ms: {rated}, fitted {fitted}"
            );
        }
    }

    /// Lines of tests/data/e_model.txt, which tests/data/e_model.py computes for itself: delay, loss in per cent, BurstR,
    /// Bpl, R.
    #[test]
    fn the_model_agrees_with_an_independent_computation() {
        let mut checked = 0;
        for line in include_str!("../tests/data/e_model.txt").lines() {
            let values: Vec<f64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let [delay_ms, loss_percent, burst_ratio, bpl, r] = values[..] else {
                panic!("{line}")
            };
            let call = Call {
                delay_ms,
                loss: loss_percent / 100.0,
                burst_ratio,
                ie: 0.0,
                bpl,
            };
            assert!((rate(&call).r - r).abs() < 1e-6, "{line}: {}", rate(&call).r);
            checked += 1;
        }
        assert_eq!(checked, 100);
    }
}
