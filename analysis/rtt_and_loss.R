#!/usr/bin/env Rscript
# Read a Weir database with R: P90 of the RTT, loss by flow, and a plot of both over time. A starting point for other
# analyses; docs/database.md describes the tables. The output is the same as that of rtt_and_loss.py.
#
#     Rscript analysis/rtt_and_loss.R weir.db [RUN] [--plot plot.svg]
#
# Requires R with RSQLite, as in Debian 12 (4.2 and 2.2.20) or later: apt-get install r-base-core r-cran-rsqlite

APPLICATION_ID <- 0x57454952 # "WEIR"
# As in reports: above 200 payload lengths, 200 ranges of them.
MAX_LENGTHS <- 200
MAX_BINS <- 300
MAX_CELLS <- 30000

# Heights of the panels' legends and of the RTT panel, in inches.
LEGEND_HEIGHT <- 0.4
RTT_HEIGHT <- 2.6

QUANTILES <- data.frame(name = c("P50", "P90"), share = c(0.5, 0.9), paint = c("#6baed6", "#08519c"))

NO_LOSS <- "#d9d9d9"
# Upper limits in percent. Each step is a decade, because loss rates range from 0.001 % to 100 %.
COLOURS <- data.frame(
  limit = c(0.01, 0.1, 1, 10, 100),
  paint = c("#fed976", "#feb24c", "#fd8d3c", "#f03b20", "#bd0026")
)

# R's integers have 32 bits, and RSQLite chooses the type of a column by its first rows. Queries therefore cast to REAL,
# which is exact below 2^53, and subtract and divide Unix times in SQL.

# The steps of a survey are separate runs. Run numbers stay text; SQL casts them to integers.
RUNS_WITH <- "
SELECT CAST(run_id AS TEXT) AS run, kind, datetime(started_unix_ns / 1000000000, 'unixepoch') AS started
FROM runs
WHERE (:run IS NULL OR CAST(:run AS INTEGER) IN (run_id, parent_run_id))
  AND EXISTS (SELECT 1 FROM %1$s WHERE %1$s.run_id = runs.run_id)
ORDER BY run_id
"

FLOWS <- "
SELECT direction, flow, max(port) AS port,
       CAST(sum(received) + sum(lost) AS REAL) AS sent, CAST(sum(lost) AS REAL) AS lost
FROM flow_seconds
WHERE run_id = CAST(:run AS INTEGER)
GROUP BY direction, flow
ORDER BY direction, flow
"

RTTS_OVER_TIME <- "
SELECT CAST((sent_unix_ns - started_unix_ns) / (CAST(:bin AS INTEGER) * 1000000000) AS REAL) AS at,
       CASE WHEN NOT lost THEN rtt_ns / 1e6 END AS rtt_ms
FROM rtt_packets JOIN runs USING (run_id)
WHERE run_id = CAST(:run AS INTEGER)
"

# A row covers the second before unix_ns, the last row of a run the remainder. Rows are not exactly a second apart, so
# bins of one second would sometimes hold two rows or none: with bins of one second, each row is a cell.
CELLS <- "
WITH seconds AS (
    SELECT direction, flow, received + flow_seconds.lost AS sent, flow_seconds.lost AS lost,
           max(unix_ns - 1000000000, lag(unix_ns, 1, 0) OVER earlier) - started_unix_ns AS begin_ns,
           unix_ns - started_unix_ns AS end_ns
    FROM flow_seconds JOIN runs USING (run_id)
    WHERE run_id = CAST(:run AS INTEGER)
    WINDOW earlier AS (PARTITION BY direction, flow ORDER BY unix_ns)
), bins AS (
    SELECT *, CASE WHEN :bin = 1 THEN begin_ns / 1e9
                   ELSE begin_ns / (CAST(:bin AS INTEGER) * 1000000000) * :bin END AS begin
    FROM seconds
)
SELECT direction, flow, CAST(begin AS REAL) AS begin,
       CAST(CASE WHEN :bin = 1 THEN max(end_ns) / 1e9 ELSE begin + :bin END AS REAL) AS end,
       CAST(sum(sent) AS REAL) AS sent, CAST(sum(lost) AS REAL) AS lost
FROM bins
GROUP BY direction, flow, begin
ORDER BY direction, flow, begin
"

fail <- function(status, ...) {
  cat("rtt_and_loss.R: ", ..., "\n", file = stderr(), sep = "")
  quit(save = "no", status = status)
}

arguments <- function(words) {
  if (any(words %in% c("-h", "--help"))) {
    cat("Rscript rtt_and_loss.R DATABASE [RUN] [--plot FILE.svg|FILE.png]\n")
    quit(save = "no")
  }
  wrong <- function(...) fail(2, ..., "; try Rscript rtt_and_loss.R DATABASE [RUN] [--plot FILE.svg|FILE.png]")
  plot <- NULL
  option <- match("--plot", words)
  if (!is.na(option)) {
    plot <- words[option + 1]
    if (is.na(plot) || !grepl("\\.(svg|png)$", plot)) wrong("--plot requires a file name that ends in .svg or .png")
    words <- words[-(option + 0:1)]
  }
  if (length(words) < 1 || length(words) > 2 || any(startsWith(words, "--"))) wrong("wrong arguments")
  run <- words[2]
  if (!is.na(run) && !grepl("^[0-9]{1,18}$", run)) wrong("'", run, "' is not a run number")
  list(database = words[1], run = run, plot = plot)
}

open_database <- function(path) {
  if (!file.exists(path) || dir.exists(path)) fail(3, "no such file: ", path)
  # Read-only, including what a running Weir has committed to weir.db-wal only.
  database <- DBI::dbConnect(RSQLite::SQLite(), path, flags = RSQLite::SQLITE_RO, synchronous = NULL)
  id <- tryCatch(
    DBI::dbGetQuery(database, "PRAGMA application_id")[[1]],
    error = function(error) if (grepl("not a database", conditionMessage(error))) 0 else stop(error)
  )
  if (id != APPLICATION_ID) fail(3, path, " is not a Weir database")
  # All queries read the same state, even while a run is being recorded.
  DBI::dbBegin(database)
  database
}

query <- function(database, sql, ...) DBI::dbGetQuery(database, sql, params = list(...))

# Prints the run that is analysed, the last, and up to eight earlier ones.
heading <- function(what, runs) {
  others <- tail(head(runs$run, -1), 8)
  run <- tail(runs, 1)
  cat(sprintf("%s of run %s (%s, %s UTC)", what, run$run, run$kind, run$started))
  if (length(others) > 0) cat("; others:", paste(others, collapse = ", "))
  cat("\n")
}

# By nearest rank (type = 1): the smallest value that this share of the values does not exceed. NA for lost packets.
rtt_quantile <- function(rtts, share) {
  answered <- as.numeric(rtts[!is.na(rtts)])
  if (length(answered) == 0) NA_real_ else quantile(answered, share, type = 1, names = FALSE)
}

# P90 by payload length and of all packets, without lost ones.
print_rtt <- function(database, run) {
  packets <- query(database, "
    SELECT CAST(length AS REAL) AS length, CASE WHEN NOT lost THEN rtt_ns / 1e6 END AS rtt_ms
    FROM rtt_packets
    WHERE run_id = CAST(:run AS INTEGER)", run = run)
  first <- min(packets$length)
  last <- max(packets$length)
  width <- 1
  if (length(unique(packets$length)) > MAX_LENGTHS) {
    width <- ceiling((last - first + 1) / MAX_LENGTHS)
    cat(sprintf("ranges of %.0f lengths, labelled with the largest\n", width))
  }
  group <- pmin(first + ((packets$length - first) %/% width + 1) * width - 1, last)
  line <- function(name, rtts) {
    p90 <- rtt_quantile(rtts, 0.9)
    p90 <- if (is.na(p90)) "-" else sprintf("%.6f", p90)
    cat(sprintf("%8s %10d %8d %14s\n", name, length(rtts), sum(is.na(rtts)), p90))
  }
  cat(sprintf("%8s %10s %8s %14s\n", "length", "sent", "lost", "P90 (ms)"))
  groups <- split(packets$rtt_ms, group)
  for (name in names(groups)) line(name, groups[[name]])
  line("all", packets$rtt_ms)
}

# Sent is received + lost, as the receiver counts them.
print_loss <- function(flows) {
  loss <- ifelse(flows$sent > 0, sprintf("%.3g", 100 * flows$lost / flows$sent), "-")
  cat(sprintf("%-9s %5s %6s %12s %10s %10s\n", "direction", "flow", "port", "sent", "lost", "loss (%)"))
  cat(with(flows, sprintf("%-9s %5d %6d %12.0f %10.0f %10s\n", direction, flow, port, sent, lost, loss)), sep = "")
}

colour <- function(sent, lost) {
  step <- findInterval(100 * lost / sent, COLOURS$limit, left.open = TRUE) + 1
  ifelse(lost == 0, NO_LOSS, COLOURS$paint[pmin(step, nrow(COLOURS))])
}

# The parts that both panels have: the title, the time axis, and room for what is drawn.
open_panel <- function(title, xlim, ylim) {
  graphics::par(mar = c(4, 6, 2.5, 1), cex = 0.8)
  graphics::plot(
    NULL,
    xlim = xlim, ylim = ylim, xaxs = "i", yaxs = "i", yaxt = "n", bty = "n",
    xlab = "seconds since the start of the run", ylab = "", main = title
  )
}

draw_legend <- function(labels, paints) {
  graphics::par(mar = c(0, 6, 0, 1))
  graphics::plot.new()
  graphics::legend("center", horiz = TRUE, bty = "n", border = NA, fill = paints, legend = labels)
}

# Draws quantiles of the RTT of the packets sent in each second, or longer bin.
draw_rtt <- function(database, run) {
  span <- query(database, "
    SELECT CAST((max(sent_unix_ns) - min(sent_unix_ns)) / 1000000000 AS REAL) FROM rtt_packets
    WHERE run_id = CAST(:run AS INTEGER)", run = run)[[1]]
  bin <- span %/% MAX_BINS + 1
  packets <- query(database, RTTS_OVER_TIME, run = run, bin = bin)
  groups <- split(packets$rtt_ms, packets$at)
  at <- as.numeric(names(groups))
  lines <- lapply(QUANTILES$share, function(share) sapply(groups, rtt_quantile, share))
  drawn <- unlist(lines)
  answered <- !all(is.na(drawn))
  limits <- if (answered) range(drawn, na.rm = TRUE) else c(0, 1)
  # At least 1 % of the RTT, so that insignificant differences stay small.
  margin <- max(0.05 * diff(limits), 0.01 * limits[2])

  title <- paste0("RTT (ms) over time, run ", run, if (answered) "" else ": all packets lost")
  open_panel(title, c(min(at), max(at) + 1) * bin, limits + c(-margin, margin))
  graphics::axis(2, las = 1)
  for (line in seq_along(lines)) {
    # NA breaks the line.
    graphics::lines((at + 0.5) * bin, lines[[line]], col = QUANTILES$paint[line])
    graphics::points((at + 0.5) * bin, lines[[line]], col = QUANTILES$paint[line], pch = 16, cex = 0.6)
  }
  draw_legend(QUANTILES$name, QUANTILES$paint)
}

# Draws a lane per flow and a cell per second, or longer bin; the colour is the loss.
draw_loss <- function(database, run, flows) {
  lanes <- paste(flows$direction, flows$flow)
  span <- query(database, "
    SELECT CAST((max(unix_ns) - min(unix_ns)) / 1000000000 AS REAL) FROM flow_seconds
    WHERE run_id = CAST(:run AS INTEGER)", run = run)[[1]]
  bin <- span %/% max(1, min(MAX_BINS, MAX_CELLS %/% length(lanes))) + 1
  cells <- query(database, CELLS, run = run, bin = bin)
  lane <- match(paste(cells$direction, cells$flow), lanes)
  open_panel(
    paste("Loss by flow over time, run", run), range(cells$begin, cells$end), c(length(lanes) + 0.5, 0.5)
  )
  graphics::axis(2, at = seq_along(lanes), labels = lanes, las = 1, tick = FALSE)
  # Nothing received and nothing known to be lost: white.
  known <- cells$sent > 0
  # Below a pixel, gaps between lanes would cause a pattern.
  half <- if (length(lanes) <= 100) 0.42 else 0.5
  graphics::rect(
    cells$begin[known], lane[known] - half, cells$end[known], lane[known] + half,
    col = colour(cells$sent, cells$lost)[known], border = NA
  )
  draw_legend(c("no loss", sprintf("to %g %%", COLOURS$limit)), c(NO_LOSS, COLOURS$paint))
}

# Draws the RTT, the loss by flow, or both; NULL for the run that does not exist.
draw <- function(database, rtt_run, flow_run, flows, path) {
  # The devices report a file that they cannot write in warnings and several lines.
  if (file.access(dirname(path), 2) != 0) fail(3, "cannot write ", path, ": no such folder, or no permission")
  heights <- c(
    if (!is.null(rtt_run)) c(RTT_HEIGHT, LEGEND_HEIGHT),
    if (!is.null(flow_run)) c(max(2.4, min(9.6, 1.6 + 0.2 * nrow(flows))), LEGEND_HEIGHT)
  )
  if (endsWith(path, ".svg")) {
    grDevices::svg(path, width = 9, height = sum(heights))
  } else {
    grDevices::png(path, width = 9, height = sum(heights), units = "in", res = 120)
  }
  graphics::layout(matrix(seq_along(heights)), heights = heights)
  if (!is.null(rtt_run)) draw_rtt(database, rtt_run)
  if (!is.null(flow_run)) draw_loss(database, flow_run, flows)
  grDevices::dev.off()
  cat("plot written to ", path, "\n", sep = "")
}

analyse <- function(given) {
  database <- open_database(given$database)
  on.exit(DBI::dbDisconnect(database))
  run <- given$run
  found <- query(database, "SELECT 1 FROM runs WHERE run_id = CAST(:run AS INTEGER)", run = run)
  if (!is.na(run) && nrow(found) == 0) fail(3, given$database, " has no run ", run)
  which <- if (is.na(run)) given$database else paste("run", run)
  with_rtt <- query(database, sprintf(RUNS_WITH, "rtt_packets"), run = run)
  with_flows <- query(database, sprintf(RUNS_WITH, "flow_seconds"), run = run)
  if (nrow(with_rtt) == 0 && nrow(with_flows) == 0) fail(3, which, " has neither RTTs nor flows")
  rtt_run <- flow_run <- flows <- NULL
  if (nrow(with_rtt) > 0) {
    heading("RTT", with_rtt)
    rtt_run <- tail(with_rtt$run, 1)
    print_rtt(database, rtt_run)
  } else {
    cat(which, "has no RTTs\n")
  }
  cat("\n")
  if (nrow(with_flows) > 0) {
    heading("loss by flow", with_flows)
    flow_run <- tail(with_flows$run, 1)
    flows <- query(database, FLOWS, run = flow_run)
    print_loss(flows)
  } else {
    cat(which, "has no flows\n")
  }
  if (!is.null(given$plot)) draw(database, rtt_run, flow_run, flows, given$plot)
}

given <- arguments(commandArgs(trailingOnly = TRUE))
for (package in c("DBI", "RSQLite")) {
  if (!requireNamespace(package, quietly = TRUE)) {
    fail(3, "R's package ", package, " is missing: apt-get install r-cran-rsqlite, or install.packages(\"RSQLite\")")
  }
}
tryCatch(analyse(given), error = function(error) {
  # End without a message under `| head`.
  if (grepl("SIGPIPE", conditionMessage(error))) quit(save = "no", status = 141)
  fail(3, "cannot read ", given$database, ": ", gsub("\\s*\n\\s*", " ", conditionMessage(error)))
})
