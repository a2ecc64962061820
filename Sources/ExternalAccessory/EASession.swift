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
open class EASession: NSObject, @unchecked Sendable {
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
  public init?(accessory: EAAccessory, forProtocol protocolString: String) {
    do throws(AppSessionError) {
      pipe = try accessory.realm.openSession(with: accessory.published, protocolName: protocolString)
    } catch {
      return nil
    }
    peer = accessory
    input = AccessoryInputStream(pipe)
    output = AccessoryOutputStream(pipe)
    super.init()
  }

  deinit { pipe.released() }

  /// The accessory.
  open var accessory: EAAccessory? { peer }
  /// The protocol.
  open var protocolString: String? { pipe.protocolName }
  /// The bytes from the accessory. The same object every time; the app opens it.
  open var inputStream: InputStream? { input }
  /// The bytes to the accessory. The same object every time; the app opens it.
  open var outputStream: OutputStream? { output }
}
