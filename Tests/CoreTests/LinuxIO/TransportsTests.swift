import AccessoryCore
import LinuxIO
import TestSupport
import Testing

@Suite(.waits) struct TransportsTests {
  @Test(arguments: ["local:", "usb:", "usbip:127.0.0.1:3240", "gadget:dummy_udc.0"])
  func whatIsNoStreamIsSentElsewhere(text: String) throws {
    let address = try Address(parsing: text)
    let loop = try EpollLoop()
    #expect(throws: TransportError.notAStream(address)) { try Transports.listen(at: address, on: loop) { _ in } }
    #expect(loop.refusal(from: address) == .notAStream(address))
  }

  @Test func aCancelledAnswerDoesNotCome() throws {
    let loop = try EpollLoop()
    Transports.connect(to: .usb(.any), on: loop) { _ in Issue.record("answered after cancel") }.cancel()
    #expect(!loop.run(until: { false }, limit: .milliseconds(2)))
  }

  /// When their work is done, connectors and listeners release the loop, whatever kind of address they use.
  @Test(arguments: ["unix:PATH", "tcp:127.0.0.1:0", "pty:PATH", "usb:"])
  func nothingIsLeftOfALoopWhoseCablesAreClosed(form: String) throws {
    let directory = TemporaryFolder()
    let path = directory.path + "/here"
    let address = try Address(parsing: form.hasSuffix("PATH") ? String(form.dropLast(4)) + path : form)
    weak var held: EpollLoop?
    do {
      let loop = try EpollLoop()
      held = loop
      if case .usb = address {
        #expect(loop.refusal(from: address) == .notAStream(address))
      } else {
        let meeting = try Meeting(at: address, on: loop)
        let both = try meeting.connect()
        _ = (both.host.startRecording(), both.accessory.startRecording())
        #expect(loop.refusal(from: .unix(path: path + ".none")) != nil)
        both.close()
      }
    }
    #expect(held == nil)
  }
}
