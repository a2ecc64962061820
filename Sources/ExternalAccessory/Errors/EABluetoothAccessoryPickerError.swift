import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The domain of a picker's errors.
public let EABluetoothAccessoryPickerErrorDomain: String = "EABluetoothAccessoryPickerErrorDomain"

/// What is called when the picker is gone; nil when an accessory was chosen and connected.
public typealias EABluetoothAccessoryPickerCompletion = ((any Error)?) -> Void

/// Why a Bluetooth picker gave no accessory.
public struct EABluetoothAccessoryPickerError: _BridgedStoredNSError, Hashable, Sendable {
  /// The error as an object.
  public let _nsError: NSError

  /// An error from its object.
  public init(_nsError error: NSError) { _nsError = error }

  /// The domain of these errors.
  public static var _nsErrorDomain: String { EABluetoothAccessoryPickerErrorDomain }
  /// The domain of these errors.
  public static var errorDomain: String { EABluetoothAccessoryPickerErrorDomain }

  /// What happened.
  public enum Code: Int, _ErrorCodeProtocol, Sendable {
    /// The error type.
    public typealias _ErrorType = EABluetoothAccessoryPickerError
    /// It is connected already.
    case alreadyConnected = 0
    /// There is no such accessory.
    case resultNotFound = 1
    /// The user chose nothing.
    case resultCancelled = 2
    /// It did not connect.
    case resultFailed = 3
  }

  /// It is connected already.
  public static var alreadyConnected: Code { .alreadyConnected }
  /// There is no such accessory.
  public static var resultNotFound: Code { .resultNotFound }
  /// The user chose nothing.
  public static var resultCancelled: Code { .resultCancelled }
  /// It did not connect.
  public static var resultFailed: Code { .resultFailed }
}
