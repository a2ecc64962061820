internal import AccessoryCore
import Foundation
import Runtime

/// Finds the source location of an app's call to a function whose signature cannot record the location. The location is
/// looked up on the stack, which requires debug information. Capturing a trace is cheap, because its text is generated
/// only when a message needs it.
///
/// The app's calls go through Foundation and Dispatch, which are built without frame pointers, so Swift's own unwinder
/// misses the caller. Foundation uses unwind tables, so it provides the addresses. Swift's `Backtrace` then finds their
/// source lines.
package struct CallTrace: Sendable {
  private let addresses: [UInt64]

  init() { addresses = Thread.callStackReturnAddresses.prefix(24).map(\.uint64Value) }

  /// The location of the call, for example "at App.swift:12 in send()", or nil if it is unknown.
  var place: String? {
    // Addresses are resolved one at a time until the app's frame, which is one of the first, is found. In a large
    // program, resolving one address can take most of a second.
    addresses.lazy.compactMap(Self.place).first
  }

  /// The locations found so far, cached because the text of a message can be generated more than once.
  private static let found = Locked<[UInt64: String?]>([:])

  /// Returns the location of a call in the app, or nil if the address belongs to other code.
  private static func place(_ address: UInt64) -> String? {
    if let known = found.withLock({ $0[address] }) { return known }
    let options: Backtrace.SymbolicationOptions = [.showSourceLocations, .showInlineFrames, .useSymbolCache]
    let symbols = backtrace(address)?.symbolicated(options: options)?.frames.compactMap(\.symbol) ?? []
    let place = symbols.lazy.compactMap { symbol -> String? in
      guard let source = symbol.sourceLocation, source.line > 0, !ownFolders.contains(where: source.path.contains)
      else { return nil }
      let file = String(source.path.split(separator: "/").last ?? "")
      return others.contains(file) ? nil : "at \(file):\(source.line) in \(symbol.name)"
    }.first
    found.withLock { $0[address] = .some(place) }
    return place
  }

  /// Where the code between the app and the search for its frame comes from; sanitizers wrap the search.
  private static let ownFolders = ["/Sources/ExternalAccessory", "Sources/CAppCalls/", "/compiler-rt/"]
  /// The files whose frames can appear on the stack between the app and this module.
  private static let others: Set = ["Lock.swift", "<compiler-generated>"]

  private struct Encoded: Codable {
    var architecture: String
    var backtrace: String
  }

  /// Converts a return address to a `Backtrace`. A `Backtrace` can be created only from its encoded form: the byte
  /// 0x27, which marks an eight-byte return address, followed by the address. If Swift ever changes this encoding,
  /// locations are reported as unknown.
  private static func backtrace(_ address: UInt64) -> Backtrace? {
    guard var encoded = ownEncoding else { return nil }
    var bytes: [UInt8] = [0x02, 0x27]
    withUnsafeBytes(of: address.bigEndian) { bytes += $0 }
    encoded.backtrace = Data(bytes + [0x00]).base64EncodedString().trimmingCharacters(in: ["="])
    return try? JSONDecoder().decode(Backtrace.self, from: JSONEncoder().encode(encoded))
  }

  private static let ownEncoding = (try? Backtrace.capture(limit: 1)).flatMap { own in
    try? JSONDecoder().decode(Encoded.self, from: JSONEncoder().encode(own))
  }
}
