import Foundation
import Runtime

/// The place where the app called a function whose signature cannot record it. The place is found on the stack, in
/// programs with debug information. Capturing a trace is cheap; its text is generated only for a message.
///
/// The app's calls go through Foundation and Dispatch, which keep no frame pointers, so Swift's own unwinder misses the
/// caller. Foundation, which uses unwind tables, provides the addresses, and Swift's `Backtrace` finds their source
/// lines.
package struct CallTrace: Equatable, Sendable {
  private let addresses: [UInt64]

  /// Captures the caller's stack.
  package init() { addresses = Thread.callStackReturnAddresses.prefix(24).map(\.uint64Value) }

  /// All traces compare as equal, so that two misuses can be equal although they come from different calls.
  package static func == (one: CallTrace, other: CallTrace) -> Bool { true }

  /// For example "App.swift:12 in send()"; nil if the place is unknown.
  package var place: String? {
    let options: Backtrace.SymbolicationOptions = [.showSourceLocations, .showInlineFrames, .useSymbolCache]
    for symbol in backtrace?.symbolicated(options: options)?.frames.compactMap(\.symbol) ?? [] {
      guard let place = symbol.sourceLocation, place.line > 0, !place.path.contains("/Sources/ExternalAccessory") else {
        continue
      }
      let file = place.path.split(separator: "/").last ?? ""
      if !Self.others.contains(String(file)) { return "\(file):\(place.line) in \(symbol.name)" }
    }
    return nil
  }

  /// Files outside this module's own that can appear between the app and this module.
  private static let others: Set = ["Lock.swift", "<compiler-generated>"]

  private struct Encoded: Codable {
    var architecture: String
    var backtrace: String
  }

  /// The addresses as a `Backtrace`, which can be created only from its encoded form. For each address, this has one
  /// byte (0x27: a return address, eight bytes follow) and the difference from the previous address. If the encoding
  /// ever changes, places are reported as unknown.
  private var backtrace: Backtrace? {
    guard let own = try? JSONEncoder().encode(Backtrace.capture(limit: 1)),
      var encoded = try? JSONDecoder().decode(Encoded.self, from: own)
    else { return nil }
    var (bytes, last): ([UInt8], UInt64) = ([0x02], 0)
    for address in addresses {
      bytes.append(0x27)
      withUnsafeBytes(of: (address &- last).bigEndian) { bytes += $0 }
      last = address
    }
    encoded.backtrace = Data(bytes + [0x00]).base64EncodedString().trimmingCharacters(in: ["="])
    return try? JSONDecoder().decode(Backtrace.self, from: JSONEncoder().encode(encoded))
  }
}
