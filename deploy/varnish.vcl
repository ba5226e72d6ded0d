# Varnish as a shield in front of `weir origin`: varnishd -a :80 -f /etc/varnish/varnish.vcl -s malloc,8g
vcl 4.1;

backend origin {
    .host = "127.0.0.1";
    .port = "8080";
    .first_byte_timeout = 60s;
    .probe = {
        .url = "/healthz";
        .interval = 5s;
        .timeout = 2s;
        .window = 5;
        .threshold = 3;
        .initial = 3;
    }
}

sub vcl_recv {
    # Status pages are for operators only.
    if (req.url == "/metrics") {
        return (synth(404));
    }
    if (req.url == "/healthz" || (req.method != "GET" && req.method != "HEAD")) {
        return (pass);
    }
    # The query filters and clips manifests, so it is kept; the origin ignores cookies.
    unset req.http.Cookie;
    return (hash);
}

sub vcl_backend_response {
    # The origin controls caching with Cache-Control; stale objects are revalidated, and
    # are served while the origin is down.
    set beresp.do_stream = true;
    set beresp.grace = 1h;
    set beresp.keep = 24h;
}

sub vcl_deliver {
    if (obj.hits > 0) {
        set resp.http.X-Cache = "HIT";
    } else {
        set resp.http.X-Cache = "MISS";
    }
}
