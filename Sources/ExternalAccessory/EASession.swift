internal import AccessoryHost
import Foundation

/// A session with an accessory for one of its protocols: one stream of bytes in each direction.
///
/// ```swift
/// guard let session = EASession(accessory: accessory, forProtocol: "com.example.protocol") else { return }
/// session.inputStream?.delegate = self
/// session.inputStream?.schedule(in: .current, forMode: .default)
/// session.inputStream?.open()
/// ```
open class EASession: NSObject {
  private let peer: EAAccessory
  private let pipe: SessionPipe
  private let input: AccessoryInputStream
  private let output: AccessoryOutputStream

  /// Do not call. Stops the process, where Apple's framework raises an exception.
  public override init() {
    fatalError("EASessionInitException: use EASession(accessory:forProtocol:)")
  }

  /// Opens a session. Returns nil if the accessory is gone or does not offer the protocol, or if the app does not declare
  /// the protocol; the reason is printed on standard error.
  ///
  /// It does not wait for the accessory. If the accessory refuses the session, both streams end.
  ///
  /// The last three arguments are the place of the call: do not pass them. Messages about the session name that place.
  public init?(
    accessory: EAAccessory, forProtocol protocolString: String, calledIn file: String = #fileID, line: Int = #line,
    function: String = #function
  ) {
    let place = CallPlace(file: file, line: line, function: function)
    guard let pipe = Self.open(accessory, protocolString, at: place) else { return nil }
    (peer, self.pipe) = (accessory, pipe)
    (input, output) = (AccessoryInputStream(pipe), AccessoryOutputStream(pipe))
    super.init()
  }

  /// Apple's initializer, for subclasses that override it and for `EASession.init(accessory:forProtocol:)` as a value.
  /// Calls prefer the other one, which knows where it was called.
  @_disfavoredOverload
  public init?(accessory: EAAccessory, forProtocol protocolString: String) {
    guard let pipe = Self.open(accessory, protocolString, at: nil) else { return nil }
    (peer, self.pipe) = (accessory, pipe)
    (input, output) = (AccessoryInputStream(pipe), AccessoryOutputStream(pipe))
    super.init()
  }

  private static func open(_ accessory: EAAccessory, _ name: String, at place: CallPlace?) -> SessionPipe? {
    try? accessory.realm.openSession(with: accessory.published, protocolName: name, at: place)
  }

  deinit { pipe.released() }

  /// The accessory.
  open var accessory: EAAccessory? { peer }
  /// The protocol.
  open var protocolString: String? { pipe.protocolName }
  /// The bytes from the accessory. It is always the same object; the app opens it.
  open var inputStream: InputStream? { input }
  /// The bytes to the accessory. It is always the same object; the app opens it.
  open var outputStream: OutputStream? { output }
}
