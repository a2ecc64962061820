internal import AccessoryCore
import Foundation

/// Who shows a Bluetooth picker: the world of a test. The bench has none.
package protocol PickerStage: AnyObject {
  /// Offers the accessories whose name matches, and says what came of it. On the loop.
  func pick(matching isOffered: (String) -> Bool, finish: @escaping (PickerOutcome) -> Void)
}

/// What came of a picker.
package enum PickerOutcome {
  /// This accessory was chosen; `plugIn` has it connect.
  case chosen(serial: String, plugIn: () -> Void)
  /// None was.
  case failed(EABluetoothAccessoryPickerError.Code)
}

extension AccessoryRealm {
  /// How long a choice may take to connect.
  private static let patience = Duration.seconds(30)
  private static let period = Duration.milliseconds(10)

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
        case .chosen(let serial, let plugIn):
          let isFirst = settings.pickerOrder == .completionFirst
          if isFirst { complete(nil) }
          let choice = Choice(serial, until: entrance.loop.now + Self.patience) { isThere in
            if !isFirst { complete(isThere ? nil : .resultFailed) }
          }
          choices.append(choice)
          plugIn()
          look(for: choice)
        }
      }
    }
  }

  /// Until it is published, whether or not the app registered to hear of that.
  private func look(for choice: Choice) {
    let loop = entrance.loop
    choice.timer = loop.makeTimer { [unowned self, weak choice] in
      guard let choice else { return }
      let isThere = accessories.contains { $0.serialNumber == choice.serial && !$0.protocols.isEmpty }
      if isThere || loop.now >= choice.end {
        choices.removeAll { $0 === choice }
        choice.finish(isThere)
      } else {
        choice.timer?.arm(at: loop.now + Self.period)
      }
    }
    choice.timer?.arm(at: loop.now + Self.period)
  }

  /// Nothing that was chosen connects any more. On the loop.
  func endChoices() {
    for choice in choices { choice.finish(false) }
    choices = []
  }

  /// An accessory that was chosen and is not published yet.
  final class Choice {
    let serial: String
    let end: Instant
    private let tell: (Bool) -> Void
    var timer: LoopTimer?
    /// Whether its connect was told of.
    var isTold = false

    init(_ serial: String, until end: Instant, tell: @escaping (Bool) -> Void) {
      (self.serial, self.end, self.tell) = (serial, end, tell)
    }

    func finish(_ isThere: Bool) {
      timer?.cancel()
      tell(isThere)
    }
  }
}
