#!/usr/bin/env Rscript
# Reads a Weir database with R: the P90 of the RTT, the loss of each flow, and a plot of that loss over time. A start
# for analyses of your own; docs/database.md describes the tables. Prints what rtt_and_loss.py prints.
#
#     Rscript analysis/rtt_and_loss.R weir.db [RUN] [--plot loss.svg]
#
# Needs R with RSQLite, as in Debian 12 (4.2 and 2.2.20) or later: apt-get install r-base-core r-cran-rsqlite

APPLICATION_ID <- 0x57454952 # "WEIR"
# As in reports: so many lengths of packets by themselves, more of them in so many ranges.
MOST_LENGTHS <- 200
MOST_BINS <- 300
MOST_CELLS <- 30000

NO_LOSS <- "#d9d9d9"
# Loss up to so many percent. Each step is a decade: what matters lies between 0.001 % and all.
COLOURS <- data.frame(
  most = c(0.01, 0.1, 1, 10, 100),
  paint = c("#fed976", "#feb24c", "#fd8d3c", "#f03b20", "#bd0026")
)

# RSQLite makes whole numbers 32 bits wide by what the first rows hold, and R has no others of its own. So queries cast
# to REAL, which is exact below 2^53, and take differences of Unix times and divide them in SQL.

# A survey keeps its steps as runs of their own. Numbers of runs stay text, and SQL makes integers of them.
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

# A row stands for the second before unix_ns, the last of a run for what was left of it. Bins of one second would catch
# two rows or none at times, since rows are not a second apart to the nanosecond: so then each is drawn where it was.
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
    if (is.na(plot) || !grepl("\\.(svg|png)$", plot)) wrong("--plot wants a file that ends in .svg or .png")
    words <- words[-(option + 0:1)]
  }
  if (length(words) < 1 || length(words) > 2 || any(startsWith(words, "--"))) wrong("wrong arguments")
  run <- words[2]
  if (!is.na(run) && !grepl("^[0-9]{1,18}$", run)) wrong("'", run, "' is no number of a run")
  list(database = words[1], run = run, plot = plot)
}

open_database <- function(path) {
  if (!file.exists(path) || dir.exists(path)) fail(3, "there is no file ", path)
  # Read-only, and still aware of what a running Weir has only in weir.db-wal.
  database <- DBI::dbConnect(RSQLite::SQLite(), path, flags = RSQLite::SQLITE_RO, synchronous = NULL)
  id <- tryCatch(
    DBI::dbGetQuery(database, "PRAGMA application_id")[[1]],
    error = function(error) if (grepl("not a database", conditionMessage(error))) 0 else stop(error)
  )
  if (id != APPLICATION_ID) fail(3, path, " is not a Weir database")
  # All queries see one state, whatever is recorded meanwhile.
  DBI::dbBegin(database)
  database
}

query <- function(database, sql, ...) DBI::dbGetQuery(database, sql, params = list(...))

# Says which run was taken, the last, and which others there were.
heading <- function(what, runs) {
  others <- tail(head(runs$run, -1), 8)
  run <- tail(runs, 1)
  cat(sprintf("%s of run %s (%s, %s UTC)", what, run$run, run$kind, run$started))
  if (length(others) > 0) cat("; others:", paste(others, collapse = ", "))
  cat("\n")
}

# P90 by payload length and over all, of the packets that were answered. The nearest rank (type = 1): the smallest value
# that 90 % of them do not exceed.
print_rtt <- function(database, run) {
  packets <- query(database, "
    SELECT CAST(length AS REAL) AS length, CASE WHEN NOT lost THEN rtt_ns / 1e6 END AS rtt_ms
    FROM rtt_packets
    WHERE run_id = CAST(:run AS INTEGER)", run = run)
  packets$rtt_ms <- as.numeric(packets$rtt_ms)
  first <- min(packets$length)
  last <- max(packets$length)
  width <- 1
  if (length(unique(packets$length)) > MOST_LENGTHS) {
    width <- ceiling((last - first + 1) / MOST_LENGTHS)
    cat(sprintf("ranges of %.0f lengths, named by the largest\n", width))
  }
  group <- pmin(first + ((packets$length - first) %/% width + 1) * width - 1, last)
  line <- function(name, rtts) {
    answered <- rtts[!is.na(rtts)]
    quantile <- if (length(answered) == 0) "-" else sprintf("%.6f", quantile(answered, 0.9, type = 1))
    cat(sprintf("%8s %10d %8d %14s\n", name, length(rtts), length(rtts) - length(answered), quantile))
  }
  cat(sprintf("%8s %10s %8s %14s\n", "length", "sent", "lost", "P90 (ms)"))
  groups <- split(packets$rtt_ms, group)
  for (name in names(groups)) line(name, groups[[name]])
  line("all", packets$rtt_ms)
}

# Sent is received and lost together: what the receiver could account for.
print_loss <- function(flows) {
  loss <- ifelse(flows$sent > 0, sprintf("%.3g", 100 * flows$lost / flows$sent), "-")
  cat(sprintf("%-9s %5s %6s %12s %10s %10s\n", "direction", "flow", "port", "sent", "lost", "loss (%)"))
  cat(with(flows, sprintf("%-9s %5d %6d %12.0f %10.0f %10s\n", direction, flow, port, sent, lost, loss)), sep = "")
}

colour <- function(sent, lost) {
  step <- findInterval(100 * lost / sent, COLOURS$most, left.open = TRUE) + 1
  ifelse(lost == 0, NO_LOSS, COLOURS$paint[pmin(step, nrow(COLOURS))])
}

# Draws a lane for each flow over the time of the run; the colour is the loss.
plot_loss <- function(database, run, flows, path) {
  lanes <- paste(flows$direction, flows$flow)
  span <- query(database, "
    SELECT CAST((max(unix_ns) - min(unix_ns)) / 1000000000 AS REAL) FROM flow_seconds
    WHERE run_id = CAST(:run AS INTEGER)", run = run)[[1]]
  bin <- span %/% max(1, min(MOST_BINS, MOST_CELLS %/% length(lanes))) + 1
  cells <- query(database, CELLS, run = run, bin = bin)
  lane <- match(paste(cells$direction, cells$flow), lanes)

  # The devices report a file that cannot be made in warnings and several lines.
  if (file.access(dirname(path), 2) != 0) fail(3, "cannot write ", path, ": no such folder, or not yours to write")
  height <- max(2.8, min(10, 2 + 0.2 * length(lanes)))
  if (endsWith(path, ".svg")) {
    grDevices::svg(path, width = 9, height = height)
  } else {
    grDevices::png(path, width = 9, height = height, units = "in", res = 120)
  }
  graphics::layout(matrix(1:2), heights = c(height - 0.4, 0.4))
  graphics::par(mar = c(4, 6, 2.5, 1), cex = 0.8)
  graphics::plot(
    NULL,
    xlim = range(cells$begin, cells$end), ylim = c(length(lanes) + 0.5, 0.5), xaxs = "i", yaxs = "i", yaxt = "n",
    bty = "n", xlab = "seconds since the run began", ylab = "", main = paste("Loss by flow over time, run", run)
  )
  graphics::axis(2, at = seq_along(lanes), labels = lanes, las = 1, tick = FALSE)
  # Nothing came and nothing is known to be lost: white.
  known <- cells$sent > 0
  # Gaps between lanes thinner than a pixel would make a pattern of their own.
  half <- if (length(lanes) <= 100) 0.42 else 0.5
  graphics::rect(
    cells$begin[known], lane[known] - half, cells$end[known], lane[known] + half,
    col = colour(cells$sent, cells$lost)[known], border = NA
  )
  graphics::par(mar = c(0, 6, 0, 1))
  graphics::plot.new()
  graphics::legend(
    "center", horiz = TRUE, bty = "n", border = NA, fill = c(NO_LOSS, COLOURS$paint),
    legend = c("no loss", sprintf("to %g %%", COLOURS$most))
  )
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
  if (!is.null(given$plot) && nrow(with_flows) == 0) fail(3, which, " has no flows to plot")
  if (nrow(with_rtt) > 0) {
    heading("RTT", with_rtt)
    print_rtt(database, tail(with_rtt$run, 1))
  } else {
    cat(which, "has no RTTs\n")
  }
  cat("\n")
  if (nrow(with_flows) > 0) {
    heading("loss by flow", with_flows)
    last <- tail(with_flows$run, 1)
    flows <- query(database, FLOWS, run = last)
    print_loss(flows)
    if (!is.null(given$plot)) plot_loss(database, last, flows, given$plot)
  } else {
    cat(which, "has no flows\n")
  }
}

given <- arguments(commandArgs(trailingOnly = TRUE))
for (package in c("DBI", "RSQLite")) {
  if (!requireNamespace(package, quietly = TRUE)) {
    fail(3, "R's package ", package, " is missing: apt-get install r-cran-rsqlite, or install.packages(\"RSQLite\")")
  }
}
tryCatch(analyse(given), error = function(error) {
  # Ends quietly under `| head`.
  if (grepl("SIGPIPE", conditionMessage(error))) quit(save = "no", status = 141)
  fail(3, "cannot read ", given$database, ": ", gsub("\\s*\n\\s*", " ", conditionMessage(error)))
})
