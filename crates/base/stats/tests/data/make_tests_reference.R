#!/usr/bin/env Rscript
# Writes tests_reference.json beside this file: what the tests behind the diagnosis must give, computed with R's own
# distributions and tests, and for the loss process by the forward algorithm packet by packet. It shares nothing with
# the Rust code but the definitions. Needs R and no package; the output is the same every time.

numbers <- function(x) paste0("[", paste(ifelse(is.finite(x), trimws(formatC(x, digits = 17, format = "g")), "null"), collapse = ", "), "]")
entries <- list()
entry <- function(.name, ...) {
  fields <- list(...)
  text <- paste0('"', names(fields), '": ', vapply(fields, numbers, ""), collapse = ", ")
  entries[[length(entries) + 1]] <<- paste0("  \"", .name, "\": {", text, "}")
}

# Tails.
z <- c(-3, -0.5, 0, 1, 2.5, 6, 9)
entry("normal", z = z, tail = pnorm(z, lower.tail = FALSE))
x <- c(0.5, 3, 11, 40, 200); df <- c(1, 4, 7, 15, 15)
entry("chi_squared", x = x, freedom = df, tail = pchisq(x, df, lower.tail = FALSE))
t <- c(0.3, 1.5, 4, 12, 40); df <- c(3, 16, 14, 60, 7)
entry("student", t = t, freedom = df, tails = 2 * pt(t, df, lower.tail = FALSE), quantile05 = qt(0.975, df))
f <- c(0.4, 1.5, 3, 9, 30); a <- c(7, 7, 15, 1, 3); b <- c(16, 14, 32, 20, 9)
entry("fisher", f = f, above = a, below = b, tail = pf(f, a, b, lower.tail = FALSE))
k <- c(1, 8, 8, 40, 7, 300, 2, 5); n <- c(10, 10, 20, 1e6, 7, 1000, 3e6, 5); p <- c(0.1, 0.5, 0.5, 2e-5, 0.5, 0.25, 3e-6, 0.3)
entry("binomial", k = k, n = n, p = p,
      at_least = pbinom(k - 1, n, p, lower.tail = FALSE), at_most = pbinom(k, n, p))
k <- c(1, 4, 9, 30, 100); mean <- c(0.01, 4, 2.5, 12, 130)
entry("poisson", k = k, mean = mean, at_least = ppois(k - 1, mean, lower.tail = FALSE))
k <- c(0, 2, 5, 9, 60, 3); white <- c(5, 11, 8, 30, 100001, 10); black <- c(4, 3, 20, 40, 99, 50); drawn <- c(3, 4, 12, 25, 100, 12)
entry("hypergeometric", k = k, white = white, black = black, drawn = drawn, at_most = phyper(k, white, black, drawn))

# Runs: every arrangement of few packets, one by one.
all_runs <- function(lost, received, runs) {
  places <- combn(lost + received, lost)
  count <- apply(places, 2, function(at) 1 + sum(diff(at) > 1))
  mean(count <= runs)
}
lost <- c(4, 4, 5, 6, 3); received <- c(6, 6, 12, 9, 15); runs <- c(1, 2, 2, 3, 2)
entry("runs", lost = lost, received = received, runs = runs, few = mapply(all_runs, lost, received, runs))
# Distances between neighbouring losses: the share at or below the reach, over every arrangement.
all_close <- function(lost, sent, reach) {
  places <- combn(sent, lost)
  mean(apply(places, 2, function(at) mean(diff(at) <= reach)))
}
lost <- c(3, 4, 5); sent <- c(12, 14, 16); reach <- c(2, 1, 3)
entry("close", lost = lost, sent = sent, reach = reach, share = mapply(all_close, lost, sent, reach))

# Ranks.
set.seed(7)
a <- rnorm(9, 100, 5); b <- rnorm(12, 104, 5)
exact <- wilcox.test(b, a, exact = TRUE, conf.int = TRUE)
entry("mann_whitney_exact", first = a, second = b, p = exact$p.value, shift = exact$estimate)
c <- round(rnorm(60, 20, 3)); d <- round(rnorm(55, 21, 3))
ties <- wilcox.test(d, c, exact = FALSE, correct = TRUE)
entry("mann_whitney_ties", first = c, second = d, p = ties$p.value, shift = median(outer(d, c, "-")))
e <- rnorm(8, 1.2, 1.5)
paired <- wilcox.test(e, exact = TRUE, conf.int = TRUE)
entry("signed_rank_exact", differences = e, p = paired$p.value, shift = paired$estimate)
g <- round(rnorm(50, 0.5, 3))
paired <- suppressWarnings(wilcox.test(g[g != 0], exact = FALSE, correct = TRUE))
entry("signed_rank_ties", differences = g, p = paired$p.value)

# A line, and a median.
x <- c(1, 2, 3, 4, 5, 6, 7, 8, 11); y <- 3 + 0.7 * x + c(0.1, -0.3, 0.2, 0.05, -0.1, 0.4, -0.2, 0.15, -0.3)
model <- lm(y ~ x)
entry("line", x = x, y = y, slope = coef(model)[2], intercept = coef(model)[1], interval = confint(model)[2, ],
      p = summary(model)$coefficients[2, 4], deviation = summary(model)$sigma)
ranks <- sapply(c(6, 9, 25, 80, 400), function(n) qbinom(0.025, n, 0.5))
entry("median_ranks", n = c(6, 9, 25, 80, 400), rank = ranks)

# Rates: 4 groups of 5 slots, with and without bursts; F test of a quasi-Poisson model, chi-squared of a plain one.
trials <- 10000
steady <- c(12, 9, 11, 14, 10, 13, 8, 12, 9, 11, 10, 15, 12, 9, 13, 25, 22, 28, 19, 24)
bursty <- c(2, 40, 1, 30, 0, 35, 2, 1, 44, 3, 0, 1, 50, 22, 4, 1, 33, 41, 2, 30)
group <- factor(rep(1:4, each = 5))
pearson <- function(events) {
  sums <- tapply(events, group, sum); rate <- sum(events) / (20 * trials)
  between <- sum((sums - 5 * trials * rate)^2 / (5 * trials * rate * (1 - rate)))
  rates <- rep(sums / (5 * trials), each = 5)
  within <- sum((events - trials * rates)^2 / (trials * rates * (1 - rates)))
  phi <- max(1, within / 16)
  plain <- pchisq(between, 3, lower.tail = FALSE)
  p <- if (phi > 1) max(plain, pf(between / 3 / phi, 3, 16, lower.tail = FALSE)) else plain
  c(p, phi)
}
entry("rates_steady", events = steady, p = pearson(steady)[1], dispersion = pearson(steady)[2])
entry("rates_bursty", events = bursty, p = pearson(bursty)[1], dispersion = pearson(bursty)[2])
# Few events: the exact probability of 6 events in one of 3 equal groups and none elsewhere, or as uneven.
entry("rates_few", p = 3 * (1 / 3)^6)

# Gilbert's process: simulated, its likelihood packet by packet, its maximum by another method (BFGS).
set.seed(11)
simulate <- function(n, p, q, g, b) {
  bad <- FALSE; lost <- logical(n)
  u <- runif(n); v <- runif(n)
  for (i in 1:n) { bad <- if (bad) u[i] >= q else u[i] < p; lost[i] <- v[i] < (if (bad) b else g) }
  lost
}
likelihood <- function(lost, p, q, g, b) {
  state <- c(q, p) / (p + q); sum <- 0
  for (i in seq_along(lost)) {
    state <- c(state[1] * (1 - p) + state[2] * q, state[1] * p + state[2] * (1 - q))
    state <- state * (if (lost[i]) c(g, b) else c(1 - g, 1 - b))
    norm <- sum(state); sum <- sum + log(norm); state <- state / norm
  }
  sum
}
expit <- function(x) 1 / (1 + exp(-x))
lost <- simulate(20000, 0.004, 0.15, 0, 0.6)
cost <- function(o) -likelihood(lost, expit(o[1]), expit(o[2]), 0, expit(o[3]))
fit <- optim(c(-5, -1.5, 0.5), cost, method = "BFGS", control = list(reltol = 1e-12))
half <- 1.96 * sqrt(diag(solve(optimHess(fit$par, cost, control = list(ndeps = rep(1e-3, 3))))))
entry("gilbert", lost = which(lost) - 1, length = length(lost), fitted = expit(fit$par), low = expit(fit$par - half),
      high = expit(fit$par + half), ln_likelihood = -fit$value,
      at_truth = likelihood(lost, 0.004, 0.15, 0, 0.6), with_good = likelihood(lost, 0.003, 0.2, 0.001, 0.7))
lost <- simulate(20000, 0.003, 0.1, 0.004, 0.8)
cost <- function(o) -likelihood(lost, expit(o[1]), expit(o[2]), expit(o[4]), expit(o[3]))
fit <- optim(c(-5, -1.5, 0.5, -5), cost, method = "BFGS", control = list(reltol = 1e-12))
entry("elliott", lost = which(lost) - 1, length = length(lost), fitted = expit(fit$par), ln_likelihood = -fit$value)

# Losses in a block, by brute force over every path of states and losses.
paths <- function(n, p, q, g, b) {
  prob <- numeric(n + 1)
  walk <- function(i, bad, weight, count) {
    if (i > n) { prob[count + 1] <<- prob[count + 1] + weight; return(invisible()) }
    for (to in c(FALSE, TRUE)) {
      move <- if (bad) (if (to) 1 - q else q) else (if (to) p else 1 - p)
      loss <- if (to) b else g
      walk(i + 1, to, weight * move * loss, count + 1)
      walk(i + 1, to, weight * move * (1 - loss), count)
    }
  }
  walk(1, FALSE, q / (p + q), 0); walk(1, TRUE, p / (p + q), 0)
  prob
}
entry("losses", packets = 6, process = c(0.1, 0.4, 0.02, 0.7), probability = paths(6, 0.1, 0.4, 0.02, 0.7))
# A code of 20 with 3 repairs over independent loss: losses of blocks with more than 3.
entry("residual", packets = 23, repairs = 3, loss = 0.01, residual = sum((4:23) * dbinom(4:23, 23, 0.01)) / 23)

# Theil's and Sen's slope; its bounds by turning Kendall's test around: every slope against which it finds no trend.
sen <- function(x, y) {
  n <- length(x)
  pairs <- combn(n, 2)
  slopes <- sort((y[pairs[2, ]] - y[pairs[1, ]]) / (x[pairs[2, ]] - x[pairs[1, ]]))
  ties <- table(y)
  v <- (n * (n - 1) * (2 * n + 5) - sum(ties * (ties - 1) * (2 * ties + 5))) / 18
  at <- c(slopes - 1e-9, slopes + 1e-9)
  s <- sapply(at, function(b) { r <- y - b * x; sum(sign(r[pairs[2, ]] - r[pairs[1, ]]) * sign(x[pairs[2, ]] - x[pairs[1, ]])) })
  range <- range(at[abs(s) <= qnorm(0.975) * sqrt(v)])
  c(median(slopes), range)
}
set.seed(19)
days <- 0:29
drift <- 50 + 0.08 * days + rnorm(30)
drift[c(7, 21)] <- c(90, 12)
coarse <- round(20 - 0.05 * days + rnorm(30), 0)
entry("trend", x = days, y = drift, found = sen(days, drift))
entry("trend_ties", x = days, y = coarse, found = sen(days, coarse))

arguments <- commandArgs(FALSE)
here <- dirname(sub("--file=", "", arguments[grep("--file=", arguments)]))
writeLines(c("{", paste(entries, collapse = ",\n"), "}"), file.path(here, "tests_reference.json"))
