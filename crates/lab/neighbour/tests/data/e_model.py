#!/usr/bin/env python3
"""The E-model of ITU-T G.107 with default values, written apart from src/e_model.rs. Makes e_model.txt; run it in its folder."""

from math import exp, log10, sqrt


def rating(delay, loss, burst, bpl):
    slr, rlr, stmr, telr, wepl, d, noise = 8, 2, 15, 65, 110, 3, 35
    t = ta = delay
    tr = 2 * delay
    nos = noise - slr - d - 100 + 0.004 * (noise - (slr + rlr) - d - 14) ** 2
    pre = noise + 10 * log10(1 + 10 ** ((10 - (stmr + d)) / 10))
    nor = rlr - 121 + pre + 0.008 * (pre - 35) ** 2
    no = 10 * log10(sum(10 ** (each / 10) for each in (-70, nos, nor, -64 + rlr)))
    ro = 15 - 1.5 * (slr + no)
    xolr = slr + rlr + 0.2 * (64 + no - rlr)
    iolr = 20 * ((1 + (xolr / 8) ** 8) ** (1 / 8) - xolr / 8)
    stmro = -10 * log10(10 ** (-stmr / 10) + exp(-t / 4) * 10 ** (-telr / 10))
    ist = 12 * (1 + ((stmro - 13) / 6) ** 8) ** (1 / 8) + 29
    ist -= 28 * (1 + ((stmro + 1) / 19.4) ** 35) ** (1 / 35)
    ist -= 13 * (1 + ((stmro - 3) / 33) ** 13) ** (1 / 13)
    q = 37
    g = 1.07 + 0.258 * q + 0.0602 * q**2
    iq = 15 * log10(1 + 10 ** ((ro - 100) / 15 + 46 / 8.4 - g / 9) + 10 ** (46 / 30 - g / 40))
    terv = telr - 40 * log10((1 + t / 10) / (1 + t / 150)) + 6 * exp(-0.3 * t**2)
    re, roe = 80 + 2.5 * (terv - 14), -1.5 * (no - rlr)
    idte = ((roe - re) / 2 + sqrt((roe - re) ** 2 / 4 + 100) - 1) * (1 - exp(-t))
    rle = 10.5 * (wepl + 7) * (tr + 1) ** -0.25
    idle = (ro - rle) / 2 + sqrt((ro - rle) ** 2 / 4 + 169)
    idd = 0
    if ta > 100:
        x = log10(ta / 100) / log10(2)
        idd = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    ie_eff = 95 * loss / (loss / burst + bpl)
    return ro - iolr - ist - iq - idte - idle - idd - ie_eff


with open("e_model.txt", "w") as out:
    for delay in (0, 30, 100, 170, 400):
        for loss in (0, 0.5, 2, 10, 30):
            for burst, bpl in ((1, 25.1), (1, 4.3), (2.5, 25.1), (8, 4.3)):
                out.write(f"{delay} {loss} {burst} {bpl} {rating(delay, loss, burst, bpl):.9f}\n")
