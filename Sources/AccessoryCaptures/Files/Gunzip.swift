// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The CLinux functions are declared here rather than imported so that apps do not need the headers. CLinux.h documents
// them.
@_extern(c) func clinux_gunzip_new(_ made: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) -> UnsafePointer<CChar>?
@_extern(c) func clinux_gunzip(
  _ gunzip: UnsafeMutableRawPointer?, _ input: UnsafePointer<UInt8>?, _ used: UnsafeMutablePointer<UInt32>?,
  _ output: UnsafeMutablePointer<UInt8>?, _ made: UnsafeMutablePointer<UInt32>?,
  _ problem: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> Int32
@_extern(c) func clinux_gunzip_end(_ gunzip: UnsafeMutableRawPointer?)

/// Decompresses gzip data, which may arrive in chunks and have any number of members. Data that does not begin like gzip
/// is passed on unchanged. Does not load zlib until it is needed.
final class Gunzip {
  static let magic: [UInt8] = [0x1F, 0x8B, 0x08]
  private static let room = 1 << 16

  private enum State {
    /// The next bytes may begin a member. If these are not the first bytes, a member has ended.
    case between([UInt8], isFirst: Bool)
    case member
    case plain
    /// The last member has ended, so any further bytes are padding, or the data is damaged.
    case over
  }

  private var state = State.between([], isFirst: true)
  private var zlib: UnsafeMutableRawPointer?
  private var offset = 0

  deinit { if let zlib { clinux_gunzip_end(zlib) } }

  /// Decompresses `bytes`. Returns the problem that makes the rest unreadable, if any.
  func append<Failure>(
    _ bytes: [UInt8], _ emit: ([UInt8]) throws(Failure) -> Void
  ) throws(Failure) -> CaptureProblem? {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch state {
      case .between(let held, let isFirst):
        rest = held + rest
        if !rest.starts(with: Self.magic.prefix(rest.count)) {
          state = isFirst ? .plain : .over
        } else if rest.count < Self.magic.count {
          state = .between(Array(rest), isFirst: isFirst)
          return nil
        } else {
          state = .member
        }
      case .member:
        if let problem = try unpack(&rest, emit) {
          state = .over
          return problem
        }
      case .plain:
        try emit(Array(rest))
        return nil
      case .over: return nil
      }
    }
    return nil
  }

  func finish<Failure>(_ emit: ([UInt8]) throws(Failure) -> Void) throws(Failure) -> CaptureProblem? {
    switch state {
    case .between(let held, isFirst: true): try emit(held)
    case .between([], isFirst: false), .plain, .over: break
    case .between, .member: return problem("the gzip file is truncated")
    }
    return nil
  }

  private func unpack<Failure>(
    _ bytes: inout ArraySlice<UInt8>, _ emit: ([UInt8]) throws(Failure) -> Void
  ) throws(Failure) -> CaptureProblem? {
    if zlib == nil, let reason = clinux_gunzip_new(&zlib) {
      return problem("the gzip file needs zlib: \(String(cString: reason)); on Debian: apt install zlib1g")
    }
    var result: Int32 = 0
    var made: UInt32 = 0
    repeat {
      var reason: UnsafePointer<CChar>?
      var used = UInt32(clamping: bytes.count)
      made = UInt32(Self.room)
      let output = [UInt8](unsafeUninitializedCapacity: Self.room) { output, count in
        result = bytes.withUnsafeBufferPointer { input in
          clinux_gunzip(zlib, input.baseAddress, &used, output.baseAddress, &made, &reason)
        }
        count = Int(made)
      }
      offset += Int(used)
      bytes = bytes.dropFirst(Int(used))
      if made > 0 { try emit(output) }
      if let reason { return problem("the gzip file is damaged: \(String(cString: reason))") }
      // If the output buffer is full, more output may be waiting.
    } while result != 1 && made == Self.room
    if result == 1 { state = .between([], isFirst: false) }
    return nil
  }

  private func problem(_ message: String) -> CaptureProblem {
    CaptureProblem(offset: offset, message: message, isFinal: true)
  }
}
