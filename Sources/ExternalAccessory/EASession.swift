internal import AccessoryHost
import Foundation

/// A session with an accessory for one of its protocols: two streams of bytes, which mean what the protocol says.
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

  /// Sessions need an accessory: this traps, as Apple's raises an exception.
  public override init() {
    fatalError("EASessionInitException: use EASession(accessory:forProtocol:)")
  }

  /// Opens a session; nil when the accessory is gone, does not offer the protocol, or the app does not declare it. Why
  /// is said on the standard error stream.
  ///
  /// It does not wait for the accessory: where that refuses, both streams end.
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
  /// The bytes that come; the same object every time, not open at first.
  open var inputStream: InputStream? { input }
  /// The bytes that go; the same object every time, not open at first.
  open var outputStream: OutputStream? { output }
}
