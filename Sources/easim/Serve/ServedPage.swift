/// The page of `GET /`: what is served here. It needs no token and tells nothing about what is simulated.
enum ServedPage {
  static let html = """
    <!DOCTYPE html>
    <html lang="en">
    <head><meta charset="utf-8"><title>easim serve</title></head>
    <body>
    <h1>easim serve</h1>
    <p>This is the control protocol of easim \(Version.current): JSON-RPC 2.0. The token is behind the # of the address that
    <code>easim serve</code> printed; each request sends it as <code>Authorization: Bearer TOKEN</code>.</p>
    <table>
    <tr><td><code>POST /rpc</code></td><td>one request; <code>rpc.discover</code> lists the methods</td></tr>
    <tr><td><code>GET /events</code></td><td>events as server-sent events</td></tr>
    <tr><td><code>GET /captures/c1.pcapng</code></td><td>a capture that <code>capture.start</code> began</td></tr>
    <tr><td><code>GET /metrics</code></td><td>metrics for Prometheus</td></tr>
    <tr><td><code>GET /healthz</code></td><td>whether the server runs; needs no token</td></tr>
    </table>
    </body>
    </html>

    """
}
