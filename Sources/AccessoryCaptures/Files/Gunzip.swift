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

/// Decompresses gzip data, which may arrive in chunks and have any number of members. Does not load zlib until it is
/// needed.
final class Gunzip {
  static let magic: [UInt8] = [0x1F, 0x8B, 0x08]
  private static let room = 1 << 16

  private enum State {
    case member
    /// A member has ended, and the next bytes may begin another one.
    case between([UInt8])
    /// The last member has ended, so any further bytes are padding.
    case over
  }

  private var state = State.member
  private var zlib: UnsafeMutableRawPointer?
  private var offset = 0

  deinit { if let zlib { clinux_gunzip_end(zlib) } }

  func append(_ bytes: [UInt8], _ emit: ([UInt8]) -> Void) throws(CaptureProblem) {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch state {
      case .member:
        // If the output buffer is full, more output may be waiting.
        while try unpack(&rest, emit) == Self.room {}
      case .between(let held):
        let start = held + rest
        guard start.starts(with: Self.magic.prefix(start.count)) else {
          state = .over
          continue
        }
        guard start.count >= Self.magic.count else {
          state = .between(start)
          return
        }
        state = .member
        rest = start[...]
      case .over: return
      }
    }
  }

  func finish() throws(CaptureProblem) {
    switch state {
    case .over: return
    case .between(let held) where held.isEmpty: return
    case .member, .between: throw problem("the gzip file is truncated")
    }
  }

  /// Decompresses as much as fits into the output buffer, and returns the number of bytes written.
  private func unpack(
    _ bytes: inout ArraySlice<UInt8>, _ emit: ([UInt8]) -> Void
  ) throws(CaptureProblem) -> Int {
    if zlib == nil, let reason = clinux_gunzip_new(&zlib) {
      throw problem("the gzip file needs zlib: \(String(cString: reason)); on Debian: apt install zlib1g")
    }
    var result: Int32 = 0
    var reason: UnsafePointer<CChar>?
    var (used, made) = (UInt32(clamping: bytes.count), UInt32(Self.room))
    let output = [UInt8](unsafeUninitializedCapacity: Self.room) { output, count in
      result = bytes.withUnsafeBufferPointer { input in
        clinux_gunzip(zlib, input.baseAddress, &used, output.baseAddress, &made, &reason)
      }
      count = Int(made)
    }
    offset += Int(used)
    bytes = bytes.dropFirst(Int(used))
    if made > 0 { emit(output) }
    if result == 1 { state = .between([]) }
    if let reason { throw problem("the gzip file is damaged: \(String(cString: reason))") }
    return result == 1 ? 0 : Int(made)
  }

  private func problem(_ message: String) -> CaptureProblem {
    CaptureProblem(offset: offset, message: message, isFinal: true)
  }
}
