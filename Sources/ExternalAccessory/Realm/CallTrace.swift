import Foundation
import Runtime

/// Where the app called something whose signature has no room for a line: found on the stack, in programs with debug
/// information. To take one costs little; its text is made only for a message.
///
/// The app calls through Foundation and Dispatch, which keep no frame pointers, so Swift's own way through the stack misses
/// the caller. The addresses are those of Foundation, which uses unwind tables, and Swift's `Backtrace` finds their lines.
package struct CallTrace: Equatable, Sendable {
  private let addresses: [UInt64]

  /// The caller's stack.
  package init() { addresses = Thread.callStackReturnAddresses.prefix(24).map(\.uint64Value) }

  /// All are equal: a trace is not what a misuse is about.
  package static func == (one: CallTrace, other: CallTrace) -> Bool { true }

  /// "App.swift:12 in send()"; nil if it is not known.
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

  /// What is between the app and this module, apart from the module's own files.
  private static let others: Set = ["Lock.swift", "<compiler-generated>"]

  private struct Encoded: Codable {
    var architecture: String
    var backtrace: String
  }

  /// The addresses as Swift's type. It can be made only from its encoded form, which for each address has a byte (a return
  /// address, eight bytes follow) and the difference from the address before. If that ever changes, no place is known.
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
