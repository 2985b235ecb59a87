vcl 4.1;
import std;

# Where the server listens.
backend default { .host = "127.0.0.1"; .port = "9000"; }

sub vcl_recv {
  if (req.method == "PURGE" || req.method == "BAN") {
    if (req.http.X-Purge-Token != std.getenv("PURGE_TOKEN")) { return (synth(403, "Forbidden")); }
    if (req.method == "PURGE") { return (purge); }
    if (std.ban(req.http.X-Ban)) { return (synth(200, "Banned")); }
    return (synth(400, "Bad expression"));
  }
  # The server knows no queries of websites: one copy for all of them, which one PURGE forgets.
  set req.url = regsub(req.url, "\?.*$", "");
}

sub vcl_backend_response {
  # What bans look at. Of the object alone, so that Varnish can forget in the background.
  set beresp.http.x-url = bereq.url;
  set beresp.http.x-host = bereq.http.host;
}

sub vcl_deliver {
  unset resp.http.x-url;
  unset resp.http.x-host;
  unset resp.http.x-cache-tags;
}
