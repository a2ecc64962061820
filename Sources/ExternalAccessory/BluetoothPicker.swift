// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import AccessoryCore
import Foundation

/// The domain of ``EABluetoothAccessoryPickerError``.
public let EABluetoothAccessoryPickerErrorDomain: String = "EABluetoothAccessoryPickerErrorDomain"

/// Called after the picker has closed. The error is nil if an accessory was chosen and connected.
public typealias EABluetoothAccessoryPickerCompletion = ((any Error)?) -> Void

/// The reason why no accessory was chosen and connected.
public struct EABluetoothAccessoryPickerError: _BridgedStoredNSError, Hashable, Sendable {
  /// The underlying error object.
  public let _nsError: NSError

  /// Creates the Swift error from an error object.
  public init(_nsError error: NSError) { _nsError = error }

  /// The domain of these errors.
  public static var _nsErrorDomain: String { EABluetoothAccessoryPickerErrorDomain }
  /// The domain of these errors.
  public static var errorDomain: String { EABluetoothAccessoryPickerErrorDomain }

  /// The reason for the error.
  public enum Code: Int, _ErrorCodeProtocol, Sendable {
    /// The error type.
    public typealias _ErrorType = EABluetoothAccessoryPickerError
    case alreadyConnected = 0
    case resultNotFound = 1
    case resultCancelled = 2
    case resultFailed = 3
  }

  /// The accessory is already connected.
  public static var alreadyConnected: Code { .alreadyConnected }
  /// No accessory was found.
  public static var resultNotFound: Code { .resultNotFound }
  /// The user cancelled the picker.
  public static var resultCancelled: Code { .resultCancelled }
  /// The accessory did not connect.
  public static var resultFailed: Code { .resultFailed }
}

/// The outcome of a Bluetooth picker.
package enum PickerOutcome {
  case chosen(serial: String, plugIn: () -> Void)
  case failed(EABluetoothAccessoryPickerError.Code)
}

extension AccessoryRealm {
  private static let timeout = Duration.seconds(30)
  private static let period = Duration.milliseconds(10)

  /// Shows the picker and calls `completion` on the main thread.
  func showPicker(_ predicate: NSPredicate?, completion: EABluetoothAccessoryPickerCompletion?) {
    entrance.sync {
      let complete = { [main] (code: EABluetoothAccessoryPickerError.Code?) in
        main.add { completion?(code.map { EABluetoothAccessoryPickerError($0) }) }
      }
      guard let picker else { return complete(.resultNotFound) }
      switch picker({ name in predicate.map { $0.evaluate(with: name) } ?? true }) {
      case .failed(let code): complete(code)
      case .chosen(let serial, let plugIn):
        let isFirst = settings.pickerOrder == .completionFirst
        if isFirst { complete(nil) }
        let choice = Choice(serial, until: entrance.loop.now + Self.timeout) { isThere in
          if !isFirst { complete(isThere ? nil : .resultFailed) }
        }
        choices.append(choice)
        plugIn()
        look(for: choice)
      }
    }
  }

  /// Waits until the chosen accessory is published, even if the app has not registered for notifications.
  private func look(for choice: Choice) {
    entrance.loop.schedule(after: Self.period) { [weak self] in
      guard let self, choices.contains(where: { $0 === choice }) else { return }
      let isThere = accessories.contains { $0.serialNumber == choice.serial && !$0.protocols.isEmpty }
      guard isThere || entrance.loop.now >= choice.end else { return look(for: choice) }
      choices.removeAll { $0 === choice }
      choice.finish(isThere)
    }
  }

  /// Reports failure for every chosen accessory that has not connected. Called on the event loop.
  func endChoices() {
    for choice in choices { choice.finish(false) }
    choices = []
  }

  final class Choice {
    let serial: String
    let end: Instant
    let finish: (_ isThere: Bool) -> Void
    var isPosted = false

    init(_ serial: String, until end: Instant, finish: @escaping (_ isThere: Bool) -> Void) {
      (self.serial, self.end, self.finish) = (serial, end, finish)
    }
  }
}
