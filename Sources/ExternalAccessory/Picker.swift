import Foundation

/// Who shows a Bluetooth picker: the world of a test. The bench has none.
package protocol PickerStage: AnyObject {
  /// Offers the accessories whose name matches, and says what came of it. On the loop.
  func pick(matching isOffered: (String) -> Bool, finish: @escaping (PickerOutcome) -> Void)
}

/// What came of a picker.
package enum PickerOutcome {
  /// This accessory was chosen; `connect` plugs it in and calls back when it is published, or cannot be.
  case chosen(serial: String, connect: (@escaping (Bool) -> Void) -> Void)
  /// None was.
  case failed(EABluetoothAccessoryPickerError.Code)
}

extension AccessoryRealm {
  /// Shows the picker and completes on the main thread.
  func showPicker(_ predicate: NSPredicate?, completion: EABluetoothAccessoryPickerCompletion?) {
    entrance.sync {
      let complete = { [main] (code: EABluetoothAccessoryPickerError.Code?) in
        main.add { completion?(code.map { EABluetoothAccessoryPickerError($0) }) }
      }
      guard let picker else { return complete(.resultNotFound) }
      picker.pick(matching: { name in predicate.map { $0.evaluate(with: name) } ?? true }) { [unowned self] outcome in
        switch outcome {
        case .failed(let code): complete(code)
        case .chosen(let serial, let connect):
          select(serial: serial)
          if settings.pickerOrder == .completionFirst { complete(nil) }
          connect { [settings] isThere in
            if settings.pickerOrder == .connectFirst { complete(isThere ? nil : .resultFailed) }
          }
        }
      }
    }
  }
}
