/// A notification for an app.
public enum AccessoryNotice: Equatable, Sendable {
  /// The accessory connected.
  case connect(PublishedAccessory)
  /// It disconnected; it is as it was last seen, with connection ID and protocols.
  case disconnect(PublishedAccessory)

  /// The accessory.
  public var accessory: PublishedAccessory {
    switch self {
    case .connect(let accessory), .disconnect(let accessory): accessory
    }
  }
}

/// The notifications for a suspended app, kept until it runs again.
///
/// ```
///   connect(7)  disconnect(7)               →  nothing: the app never knew of it
///   disconnect(6)  connect(7)               →  as the rule says, for one accessory with a new number
///   disconnect(6)  connect(7) disconnect(7) →  disconnect(6)
/// ```
///
/// Invariant: a connection ID is in the queue at most twice, and then as a disconnect of an accessory that the app
/// knew, never together with its own connect. So the queue is never longer than the accessories that the app knew plus
/// those that are connected.
struct NoticeQueue: Equatable {
  private(set) var notices: [AccessoryNotice] = []

  /// Adds a notification, and removes a pair that cancels out.
  mutating func add(_ notice: AccessoryNotice) {
    if case .disconnect(let gone) = notice, let index = notices.firstIndex(where: { $0.isConnect(of: gone) }) {
      notices.remove(at: index)
    } else {
      notices.append(notice)
    }
  }

  /// Empties the queue, and returns the notifications that the app gets now, in order.
  mutating func drain(_ rule: AppRules.Reattachment) -> [AccessoryNotice] {
    defer { notices = [] }
    guard rule != .both else { return notices }
    var told = notices
    for case .disconnect(let old) in notices {
      // A change of the transport connects again before it disconnects, which is not a reattachment.
      guard let left = told.firstIndex(of: .disconnect(old)),
        let came = told[left...].firstIndex(where: { $0.isConnect(again: old) })
      else { continue }
      if rule == .nothing { told.remove(at: came) }
      told.remove(at: left)
    }
    return told
  }
}

extension AccessoryNotice {
  fileprivate func isConnect(of accessory: PublishedAccessory) -> Bool {
    if case .connect(let other) = self { return other.connectionID == accessory.connectionID }
    return false
  }

  fileprivate func isConnect(again accessory: PublishedAccessory) -> Bool {
    if case .connect(let other) = self { return other.serialNumber == accessory.serialNumber }
    return false
  }
}
