/// What an app is told of an accessory.
public enum AccessoryNotice: Equatable, Sendable {
  /// It appeared.
  case connect(PublishedAccessory)
  /// It disappeared; as it was last seen, number and protocols included.
  case disconnect(PublishedAccessory)

  /// Which.
  public var accessory: PublishedAccessory {
    switch self {
    case .connect(let accessory), .disconnect(let accessory): accessory
    }
  }
}

/// What happened while an app was suspended, kept until it runs again.
///
/// ```
///   connect(7)  disconnect(7)               →  nothing: the app never knew of it
///   disconnect(6)  connect(7)               →  as the rule says, for one accessory with a new number
///   disconnect(6)  connect(7) disconnect(7) →  disconnect(6)
/// ```
///
/// Invariant: a number stands in the queue at most twice, and then as a disconnect of what the app knew and never with
/// its own connect; so the queue is no longer than what the app knew and what is there.
struct NoticeQueue: Equatable {
  private(set) var notices: [AccessoryNotice] = []

  /// Notes what happened, and forgets a pair that cancels out.
  mutating func add(_ notice: AccessoryNotice) {
    if case .disconnect(let gone) = notice, let index = notices.firstIndex(where: { $0.isConnect(of: gone) }) {
      notices.remove(at: index)
    } else {
      notices.append(notice)
    }
  }

  /// Empties the queue: what the app is told now, in the order in which it happened.
  mutating func drain(_ rule: AppRules.Reattachment) -> [AccessoryNotice] {
    defer { notices = [] }
    guard rule != .both else { return notices }
    var told = notices
    for case .disconnect(let old) in notices {
      // A switch of transports connects anew before it disconnects, and is no reattachment.
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
