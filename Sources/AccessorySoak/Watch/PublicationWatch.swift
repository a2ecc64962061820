import AccessorySessions

/// Watches a device's connects and disconnects.
///
/// The rules: each connect has its disconnect; a connection ID is used once; a session is opened only on a protocol
/// that the accessory offers at that moment.
struct PublicationWatch {
  private var seen: [Int] = []
  /// The connection IDs that are published now.
  private(set) var published: [Int] = []

  /// What is wrong with an event; nil when nothing is.
  mutating func saw(_ event: TimelineEvent) -> SoakComplaint? {
    guard event.side == .device else { return nil }
    switch event.kind {
    case .connect:
      guard let id = event.subject?.connectionID else {
        return SoakComplaint(.publication, "connect without a connection ID")
      }
      if seen.contains(id) { return SoakComplaint(.publication, "connection ID \(id) was issued before") }
      seen.append(id)
      published.append(id)
    case .disconnect:
      guard let id = event.subject?.connectionID else {
        return SoakComplaint(.publication, "disconnect without a connection ID")
      }
      guard let index = published.firstIndex(of: id) else {
        return SoakComplaint(.publication, "disconnect of \(id), which is not connected")
      }
      published.remove(at: index)
    case .sessionOpen(_, let name):
      guard event.subject?.protocols.contains(name) == true else {
        return SoakComplaint(
          .opening, "a session was opened on \(name), and the accessory offers \(event.subject?.protocols ?? [])")
      }
    default: break
    }
    return nil
  }
}
