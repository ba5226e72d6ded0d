-- For wrk: asks for the addresses in the file that ADDRESSES names, one after the other, and prints what came as JSON.
local addresses, at = {}, 0

init = function()
    for line in io.lines(os.getenv("ADDRESSES")) do
        addresses[#addresses + 1] = wrk.format("GET", line)
    end
end

request = function()
    at = at % #addresses + 1
    return addresses[at]
end

done = function(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        'RESULT {"requests": %d, "bytes": %d, "microseconds": %d, "failed": %d, "mean_us": %f, "p99_us": %f}\n',
        summary.requests, summary.bytes, summary.duration,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency.mean, latency:percentile(99)))
end
