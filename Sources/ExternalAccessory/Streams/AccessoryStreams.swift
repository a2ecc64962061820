import Foundation

/// The stream of bytes from an accessory.
///
/// This class overrides all of Foundation's methods, because on Linux Foundation's streams never call their delegate.
final class AccessoryInputStream: InputStream, StreamDelegate {
  private let pipe: SessionPipe

  init(_ pipe: SessionPipe) {
    self.pipe = pipe
    super.init(data: Data())
    pipe.input.belong(to: self)
  }

  deinit { pipe.abandon(.input) }

  override func open() { pipe.open(.input) }
  override func close() { pipe.close(.input) }

  override var delegate: (any StreamDelegate)? {
    get { pipe.input.delegate }
    set { pipe.input.delegate = newValue }
  }

  override var streamStatus: Stream.Status { pipe.input.status }
  override var streamError: (any Error)? { pipe.input.error }
  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

  override func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) { pipe.input.schedule(in: loop, forMode: mode) }
  override func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) { pipe.input.remove(from: loop, forMode: mode) }

  override var hasBytesAvailable: Bool { pipe.input.status.isUsable && pipe.hasBytes }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
    guard pipe.input.status.isUsable else { return -1 }
    let count = pipe.read(UnsafeMutableRawBufferPointer(start: buffer, count: max(0, length)))
    return count == 0 && streamError != nil ? -1 : count
  }

  override func getBuffer(
    _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
  ) -> Bool { false }
}

final class AccessoryOutputStream: OutputStream, StreamDelegate {
  private let pipe: SessionPipe

  init(_ pipe: SessionPipe) {
    self.pipe = pipe
    super.init(toMemory: ())
    pipe.output.belong(to: self)
  }

  required init(toMemory: ()) {
    fatalError("output streams to accessories come from EASession.outputStream")
  }

  deinit { pipe.abandon(.output) }

  override func open() { pipe.open(.output) }
  override func close() { pipe.close(.output) }

  override var delegate: (any StreamDelegate)? {
    get { pipe.output.delegate }
    set { pipe.output.delegate = newValue }
  }

  override var streamStatus: Stream.Status { pipe.output.status }
  override var streamError: (any Error)? { pipe.output.error }
  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

  override func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) { pipe.output.schedule(in: loop, forMode: mode) }
  override func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) {
    pipe.output.remove(from: loop, forMode: mode)
  }

  override var hasSpaceAvailable: Bool { pipe.output.status.isUsable && pipe.hasRoom }

  override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
    write(buffer, maxLength: length, at: nil)
  }

  fileprivate func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int, at place: CallPlace?) -> Int {
    guard pipe.output.status.isUsable else { return -1 }
    return pipe.write(UnsafeRawBufferPointer(start: buffer, count: max(0, length)), at: place)
  }
}

extension OutputStream {
  /// Writes the bytes of an array. Apple's method takes a pointer. If an app passes an array, the compiler prefers this
  /// method, which records the source line for messages about short writes. Omit the last three arguments. The defaults
  /// of these arguments record the location of the call.
  public func write(
    _ bytes: [UInt8], maxLength length: Int, calledIn file: String = #fileID, line: Int = #line,
    function: String = #function
  ) -> Int {
    bytes.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return 0 }
      guard let stream = self as? AccessoryOutputStream else { return write(start, maxLength: length) }
      return stream.write(start, maxLength: length, at: CallPlace(file: file, line: line, function: function))
    }
  }
}

extension Stream.Status {
  /// Whether the app may read and write. Even after the stream has ended, reads return the remaining bytes, and writes
  /// return the error.
  fileprivate var isUsable: Bool { self != .notOpen && self != .closed }
}
