import Foundation

/// A session with an accessory. A session uses one of the accessory's protocols and has one byte stream in each
/// direction.
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

  /// Do not call this initializer: it stops the process, whereas Apple's framework raises an exception.
  public override init() {
    fatalError("EASessionInitException: use EASession(accessory:forProtocol:)")
  }

  /// Opens a session. Returns nil if the accessory is disconnected, if it does not offer the protocol, or if the app
  /// does not declare the protocol. The reason is printed on standard error.
  ///
  /// The initializer does not wait for the accessory. If the accessory refuses the session, both streams end.
  ///
  /// Omit the last three arguments. The defaults of these arguments record the location of the call for messages about
  /// the session.
  public init?(
    accessory: EAAccessory, forProtocol protocolString: String, calledIn file: String = #fileID, line: Int = #line,
    function: String = #function
  ) {
    let place = CallPlace(file: file, line: line, function: function)
    guard let pipe = accessory.realm.openSession(with: accessory.published, protocolName: protocolString, at: place)
    else { return nil }
    (peer, self.pipe) = (accessory, pipe)
    (input, output) = (AccessoryInputStream(pipe), AccessoryOutputStream(pipe))
    super.init()
  }

  /// Apple's initializer, for subclasses that override it and for code that uses
  /// `EASession.init(accessory:forProtocol:)` as a value. Ordinary calls resolve to the other initializer, which
  /// records the location of the call.
  @_disfavoredOverload
  public init?(accessory: EAAccessory, forProtocol protocolString: String) {
    guard let pipe = accessory.realm.openSession(with: accessory.published, protocolName: protocolString, at: nil)
    else { return nil }
    (peer, self.pipe) = (accessory, pipe)
    (input, output) = (AccessoryInputStream(pipe), AccessoryOutputStream(pipe))
    super.init()
  }

  deinit { pipe.released() }

  /// The accessory.
  open var accessory: EAAccessory? { peer }
  /// The protocol.
  open var protocolString: String? { pipe.protocolName }
  /// The stream of bytes from the accessory. The property always returns the same object, which the app must open.
  open var inputStream: InputStream? { input }
  /// The stream of bytes to the accessory. The property always returns the same object, which the app must open.
  open var outputStream: OutputStream? { output }
}
