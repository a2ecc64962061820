// swift-format-ignore-file: AlwaysUseLowerCamelCase

// A function of CLinux, declared by hand instead of imported, so that apps need none of its headers; CLinux.h describes
// it.
@_extern(c) func clinux_gunzip_new(_ made: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) -> UnsafePointer<CChar>?
@_extern(c) func clinux_gunzip(
  _ gunzip: UnsafeMutableRawPointer?, _ input: UnsafePointer<UInt8>?, _ used: UnsafeMutablePointer<UInt32>?,
  _ output: UnsafeMutablePointer<UInt8>?, _ made: UnsafeMutablePointer<UInt32>?,
  _ problem: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> Int32
@_extern(c) func clinux_gunzip_end(_ gunzip: UnsafeMutableRawPointer?)

/// Unpacks gzip that arrives in chunks, with any number of members. It uses zlib, which is loaded when there is
/// something to unpack.
final class Gunzip {
  /// The first bytes of a gzip file.
  static let magic: [UInt8] = [0x1F, 0x8B, 0x08]
  /// How much is unpacked at once.
  private static let room = 1 << 16

  private enum State {
    case member
    /// The bytes after a member, which may begin another one.
    case between([UInt8])
    /// Whatever follows the last member is padding.
    case over
  }

  private var state = State.member
  private var zlib: UnsafeMutableRawPointer?
  private var offset = 0

  deinit { if let zlib { clinux_gunzip_end(zlib) } }

  /// Continues with `bytes`, and emits what is unpacked.
  func append(_ bytes: [UInt8], _ emit: ([UInt8]) -> Void) throws(CaptureProblem) {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch state {
      case .member:
        // If the output filled the room, there may be more.
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

  /// Called at the end of the file.
  func finish() throws(CaptureProblem) {
    switch state {
    case .over: return
    case .between(let held) where held.isEmpty: return
    case .member, .between: throw problem("the gzip file is truncated")
    }
  }

  /// Unpacks as much as there is room for, and returns the number of bytes.
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
