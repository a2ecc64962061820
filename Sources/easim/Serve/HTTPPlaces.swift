import AccessoryCore
import AccessoryFormats

/// Tracks which connections of an HTTP server wait for a request, and which one to close when the limit is reached.
///
/// A connection that has sent a request with the token is never closed. All other connections are called strangers:
/// when a connection arrives and the limit is reached, the oldest stranger is closed. Connections that send their
/// headers very slowly therefore cannot lock out a client that sends its request immediately.
struct HTTPPlaces<Connection: Hashable> {
  private struct Place {
    /// When the connection was accepted or its last request was answered.
    var since: Instant
    /// Whether the request's headers have not arrived yet.
    var isWaiting = true
    var isTrusted = false
  }

  private var places: [Connection: Place] = [:]

  var count: Int { places.count }

  /// The unauthenticated connection to close to make room for a new one; nil if there is none.
  var stranger: Connection? { places.filter { !$0.value.isTrusted }.min { $0.value.since < $1.value.since }?.key }

  /// Records that a connection was accepted or answered, and is waiting for a request.
  mutating func wait(_ connection: Connection, at now: Instant) {
    places[connection, default: Place(since: now)].isWaiting = true
    places[connection]?.since = now
  }

  mutating func arrived(_ connection: Connection, isTrusted: Bool) {
    places[connection]?.isWaiting = false
    if isTrusted { places[connection]?.isTrusted = true }
  }

  mutating func leave(_ connection: Connection) { places[connection] = nil }

  /// Returns the connections whose headers should have arrived by now, and the next deadline of another connection.
  func overdue(at now: Instant, limit: Duration) -> (connections: [Connection], next: Instant?) {
    let waiting = places.filter(\.value.isWaiting)
    let late = waiting.filter { $0.value.since + limit <= now }
    return (Array(late.keys), waiting.values.map { $0.since + limit }.filter { $0 > now }.min())
  }
}
