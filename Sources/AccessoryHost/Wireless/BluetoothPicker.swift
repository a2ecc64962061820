/// The system's list of Bluetooth accessories to pair with, as an app asks for it: one at a time.
///
/// ```
///   closed ──show──▶ shown ──choose──▶ pairing ──its accessory appeared, or could not be paired──▶ closed
///                      └──cancel, nothing in reach──▶ closed
/// ```
///
/// The predicate of the app sees names alone. Choosing an accessory pairs it: it connects as if it had been plugged in,
/// and its connect says that the user chose it. Then the app's completion runs; Apple does not say in which order, so
/// that is a setting.
///
/// Invariants: each `show` is completed once; no connect is said to be chosen unless it was.
public struct BluetoothPicker {
  /// Why nothing was picked; with Apple's numbers.
  public enum Failure: Int, Error, Hashable, Sendable {
    /// The chosen accessory is connected already.
    case alreadyConnected = 0
    /// Nothing that the app asked for is in reach.
    case notFound = 1
    /// The user closed the list.
    case cancelled = 2
    /// Pairing did not work, Bluetooth is off, or a list is shown already.
    case failed = 3
  }

  /// An accessory in reach, by the name that the list shows.
  public struct Candidate: Hashable, Sendable {
    /// The name people see, and all that the app's predicate gets.
    public var name: String
    /// Which accessory it is, as whoever simulates it says.
    public var key: String
    /// Whether it is connected.
    public var isConnected: Bool

    /// An accessory in reach.
    public init(name: String, key: String, isConnected: Bool = false) {
      self.name = name
      self.key = key
      self.isConnected = isConnected
    }
  }

  /// What follows.
  public enum Action: Equatable, Sendable {
    /// The list is shown to the user.
    case present([Candidate])
    /// The accessory is to be paired and plugged in.
    case pair(key: String)
    /// Apps hear that it connected, chosen by the user.
    case connect(connectionID: Int)
    /// The app's completion runs; nil is success.
    case complete(Failure?)
    /// The system says something to the user.
    case alert(String)
  }

  private enum State: Equatable {
    case closed
    case shown([Candidate])
    case pairing(key: String)
  }

  private var state = State.closed
  private let completesBeforeConnect: Bool

  /// A picker that is not shown.
  public init(completesBeforeConnect: Bool = false) {
    self.completesBeforeConnect = completesBeforeConnect
  }

  /// Whether the list is shown, or a choice is being paired.
  public var isOpen: Bool { state != .closed }

  /// The key of the accessory whose connect is waited for.
  public var pairingKey: String? {
    if case .pairing(let key) = state { key } else { nil }
  }

  /// An app asks for the list.
  public mutating func show(
    _ candidates: [Candidate], isBluetoothOn: Bool = true, matching filter: (String) -> Bool = { _ in true }
  ) -> [Action] {
    // The list of another call stays as it is; this call is answered all the same.
    guard state == .closed else { return [.complete(.failed)] }
    guard isBluetoothOn else {
      return [.alert("Turn On Bluetooth to Allow Accessories to Connect"), .complete(.failed)]
    }
    let shown = candidates.filter { filter($0.name) }
    guard !shown.isEmpty else { return [.complete(.notFound)] }
    state = .shown(shown)
    return [.present(shown)]
  }

  /// The user taps an accessory.
  public mutating func choose(key: String) -> [Action] {
    guard case .shown(let candidates) = state, let choice = candidates.first(where: { $0.key == key }) else {
      return []
    }
    guard !choice.isConnected else { return close(.alreadyConnected) }
    state = .pairing(key: key)
    return [.pair(key: key)]
  }

  /// The user closes the list, or gives up waiting.
  public mutating func cancel() -> [Action] {
    isOpen ? close(.cancelled) : []
  }

  /// An accessory was published to apps. Nothing comes of it unless it is the chosen one: then this connect, and no
  /// other, is told by ``Action/connect(connectionID:)``.
  public mutating func published(key: String, connectionID: Int) -> [Action] {
    guard state == .pairing(key: key) else { return [] }
    let connect = Action.connect(connectionID: connectionID)
    let completion = close(nil)
    return completesBeforeConnect ? completion + [connect] : [connect] + completion
  }

  /// The chosen accessory could not be paired, or left before it was ready.
  public mutating func pairingFailed() -> [Action] {
    guard case .pairing = state else { return [] }
    return close(.failed)
  }

  private mutating func close(_ failure: Failure?) -> [Action] {
    state = .closed
    return [.complete(failure)]
  }
}
