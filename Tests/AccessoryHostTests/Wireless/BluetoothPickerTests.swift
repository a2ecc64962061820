import AccessoryHost
import Testing

@Suite struct BluetoothPickerTests {
  let glasses = BluetoothPicker.Candidate(name: "Glasses", key: "g")
  let scale = BluetoothPicker.Candidate(name: "Scale", key: "s", isConnected: true)

  @Test func aChoiceIsPairedThenConnectedThenComplete() {
    var picker = BluetoothPicker()
    #expect(picker.show([glasses, scale]) == [.present([glasses, scale])])
    #expect(picker.choose(key: "g") == [.pair(key: "g")])
    #expect(picker.published(key: "other", connectionID: 6) == [], "somebody plugged another one in")
    #expect(picker.published(key: "g", connectionID: 7) == [.connect(connectionID: 7), .complete(nil)])
    #expect(!picker.isOpen)
    #expect(picker.published(key: "g", connectionID: 8) == [], "it comes back by itself: nobody chose it")
  }

  @Test func theOrderOfConnectAndCompletionIsASetting() {
    var picker = BluetoothPicker(completesBeforeConnect: true)
    _ = picker.show([glasses])
    _ = picker.choose(key: "g")
    #expect(picker.published(key: "g", connectionID: 7) == [.complete(nil), .connect(connectionID: 7)])
  }

  @Test func theFilterSeesNamesAlone() {
    var picker = BluetoothPicker()
    #expect(picker.show([glasses, scale]) { $0.hasPrefix("Gl") } == [.present([glasses])])
    #expect(picker.choose(key: "s") == [], "what is not shown cannot be chosen")
    #expect(picker.isOpen)
  }

  @Test func nothingThatFitsIsNotFound() {
    var picker = BluetoothPicker()
    #expect(picker.show([]) == [.complete(.notFound)])
    #expect(picker.show([glasses]) { _ in false } == [.complete(.notFound)])
    #expect(!picker.isOpen)
  }

  @Test func aConnectedAccessoryIsNotPairedAgain() {
    var picker = BluetoothPicker()
    _ = picker.show([scale])
    #expect(picker.choose(key: "s") == [.complete(.alreadyConnected)])
  }

  @Test func theUserMayCloseTheListAtAnyTime() {
    var picker = BluetoothPicker()
    #expect(picker.cancel() == [], "there is none")
    _ = picker.show([glasses])
    #expect(picker.cancel() == [.complete(.cancelled)])
    _ = picker.show([glasses])
    _ = picker.choose(key: "g")
    #expect(picker.cancel() == [.complete(.cancelled)])
    #expect(picker.published(key: "g", connectionID: 9) == [], "it was given up")
  }

  @Test func aPairingThatFailsIsComplete() {
    var picker = BluetoothPicker()
    #expect(picker.pairingFailed() == [])
    _ = picker.show([glasses])
    _ = picker.choose(key: "g")
    #expect(picker.pairingKey == "g")
    #expect(picker.pairingFailed() == [.complete(.failed)])
  }

  @Test func aSecondListIsRefusedAndTheFirstStays() {
    var picker = BluetoothPicker()
    _ = picker.show([glasses])
    #expect(picker.show([glasses]) == [.complete(.failed)])
    #expect(picker.choose(key: "g") == [.pair(key: "g")])
  }

  @Test func withoutBluetoothTheUserIsTold() {
    var picker = BluetoothPicker()
    let actions = picker.show([glasses], isBluetoothOn: false)
    #expect(actions.last == .complete(.failed))
    #expect(actions.count == 2, "an alert, and the completion")
    #expect(!picker.isOpen)
  }
}
