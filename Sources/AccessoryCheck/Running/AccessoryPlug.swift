import AccessoryCables
import AccessoryCore
import AccessoryFormats
import LinuxIO

/// A connection point where the accessory under test can be plugged in repeatedly.
package protocol AccessoryPlug: AnyObject {
  /// The name of the connection point, such as its address, for use in messages.
  var place: String { get }

  /// Connects to the accessory. The caller must start the returned cable's channel.
  ///
  /// - Throws: ``AccessoryAbsent`` if no accessory can be connected within `limit`.
  func plugIn(_ pump: CheckPump, within limit: Duration) throws -> OpenedCable
}

package struct AccessoryAbsent: Error, Sendable, CustomStringConvertible {
  package let reason: TransportError?
  package let description: String

  package init(_ description: String, reason: TransportError? = nil) {
    (self.reason, self.description) = (reason, description)
  }
}

package final class AddressPlug: AccessoryPlug {
  package var place: String { address.description }

  private let address: Address
  private let finder: any AccessoryFinder
  private let loop: EpollLoop
  private let fits: (FoundAccessory) -> Bool
  private let wrap: (Cable) -> Cable
  private var found: [String: FoundAccessory] = [:]
  private var isStarted = false
  /// The identity of the accessory that was found first. No other accessory is accepted.
  private var taken: String?
  /// Why the last attempt failed, or nil if it succeeded.
  package private(set) var trouble: TransportError?
  /// Whether the plug still waits for its first accessory, at an address that does not show whether there is one.
  package var isSearching: Bool { !finder.seesArrivals && taken == nil }

  /// Creates a plug that is not connected yet.
  ///
  /// - Parameters:
  ///   - fits: returns true for the accessory to connect to.
  ///   - wrap: adds transcripts and faults to each cable.
  /// - Throws: an error that names the address if no accessory can exist at that address.
  package init(
    _ address: Address, _ media: MediumTable, on loop: EpollLoop, options: TransportOptions = TransportOptions(),
    where fits: @escaping (FoundAccessory) -> Bool = { _ in true }, wrap: @escaping (Cable) -> Cable = { $0 }
  ) throws {
    (self.address, self.loop, self.fits, self.wrap) = (address, loop, fits, wrap)
    finder = try media[address].makeFinder(for: address, on: loop, options: options)
  }

  deinit { finder.stop() }

  package func plugIn(_ pump: CheckPump, within limit: Duration) throws -> OpenedCable {
    if !isStarted {
      isStarted = true
      try finder.start { [unowned self] change in happened(change) }
    }
    let deadline = loop.now + limit
    trouble = nil
    repeat {
      if let accessory = wanted {
        switch try connect(to: accessory, pump, deadline) {
        case .success(let opened):
          taken = accessory.identity
          return OpenedCable(wrap(opened.cable), droppedBytes: opened.droppedBytes, release: opened.release)
        case .failure(let reason):
          trouble = reason
          if !reason.mayPass, !finder.seesArrivals { throw AccessoryAbsent(reason.description, reason: reason) }
        }
      }
      try pump.pause(max(.milliseconds(20), min(finder.pauses.shortest, .milliseconds(250))))
    } while loop.now < deadline
    let time = DurationText.format(limit)
    let why = trouble.map { "no accessory at \(address) within \(time): \($0)" }
    throw AccessoryAbsent(why ?? "\(address.nothingThere) within \(time)", reason: trouble)
  }

  private var wanted: FoundAccessory? {
    let all = found.values.filter { fits($0) && !$0.isNearMiss && (taken == nil || taken == $0.identity) }
    return all.min { $0.key < $1.key }
  }

  private func connect(
    to accessory: FoundAccessory, _ pump: CheckPump, _ deadline: Instant
  ) throws -> Result<OpenedCable, TransportError> {
    var answer: Result<OpenedCable, TransportError>?
    let attempt: any Connecting
    do throws(TransportError) {
      attempt = try finder.connect(to: accessory) { answer = $0 }
    } catch {
      return .failure(error)
    }
    defer { if answer == nil { attempt.cancel() } }
    let limit = max(.milliseconds(1), deadline - loop.now)
    _ = try pump.wait(within: limit, until: { answer != nil })
    return answer ?? .failure(.timedOut(address, after: limit))
  }

  private func happened(_ change: AccessoryChange) {
    switch change {
    case .arrived(let accessory), .changed(let accessory, _): found[accessory.key] = accessory
    case .left(let accessory, _): found[accessory.key] = nil
    case .passed, .warning: break
    }
  }
}
