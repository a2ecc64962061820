import Testing

@testable import AccessoryUSB

/// Tests how endpoint 0 of a gadget reacts to each event in every state.
@Suite struct GadgetControlTests {
  var control = GadgetControl(USBAccessoryShape(manufacturer: "Lawaken", name: "Glasses", serial: "A1"))

  mutating func told(_ event: FunctionFSEvent) -> ControlEndpoint.Effect {
    let (reply, effect) = control.handle(event)
    #expect(reply == nil, "only a setup is answered")
    return effect
  }

  mutating func asked(_ bytes: [UInt8]) -> GadgetControl.Reply? {
    let (reply, effect) = control.handle(.setup(ControlEndpoint.Setup(bytes[...])))
    #expect(effect == .nothing)
    return reply
  }

  @Test mutating func anEnumerationEnablesAndAnUnplugDisables() {
    #expect(told(.bind) == .nothing)
    #expect(!control.isEnabled)
    #expect(told(.enable) == .restarted)
    #expect(control.isEnabled)
    #expect(told(.disable) == .stopped)
    #expect(!control.isEnabled)
    #expect(told(.unbind) == .nothing)
  }

  @Test mutating func aSecondEnableIsAProgramThatBeginsAnew() {
    #expect(told(.enable) == .restarted)
    #expect(told(.enable) == .restarted)
  }

  @Test mutating func eventsThatTheKernelForgotAreMadeUpFor() {
    // There is no disable event, because the kernel keeps only the newest event.
    #expect(told(.enable) == .restarted)
    #expect(told(.unbind) == .stopped)
    #expect(told(.disable) == .nothing)
    #expect(told(.enable) == .restarted)
  }

  @Test mutating func sleepingAndWakingChangeNothing() {
    #expect(told(.enable) == .restarted)
    #expect(told(.suspend) == .nothing)
    #expect(told(.resume) == .nothing)
    #expect(told(.unknown(200)) == .nothing)
    #expect(control.isEnabled)
  }

  @Test mutating func whatNoAccessoryKnowsIsStalledInTheDirectionOfTheRequest() {
    _ = told(.enable)
    // The requests are a vendor request in each direction and a class request to the interface.
    #expect(asked([0x40, 0x51, 0, 0, 0, 0, 0, 0]) == .stall(hostReads: false))
    #expect(asked([0xC0, 0x53, 0, 0, 0, 0, 4, 0]) == .stall(hostReads: true))
    #expect(asked([0x21, 0x0A, 0, 0, 0, 0, 0, 0]) == .stall(hostReads: false))
    // This request has a data stage that the device would not read.
    #expect(asked([0x00, 0x03, 1, 0, 0, 0, 2, 0]) == .stall(hostReads: false))
  }

  @Test mutating func whatTheKernelLeavesOverIsAnsweredAsOnUSBIP() {
    _ = told(.enable)
    #expect(asked([0x81, 0, 0, 0, 0, 0, 2, 0]) == .data([0, 0]))
    #expect(asked([0x80, 8, 0, 0, 0, 0, 1, 0]) == .data([1]))
    #expect(asked([0x00, 0x01, 1, 0, 0, 0, 0, 0]) == .done)
    _ = told(.disable)
    #expect(asked([0x81, 0, 0, 0, 0, 0, 2, 0]) == .stall(hostReads: true))
  }

  @Test mutating func aRequestToAnEndpointReachesTheOneThatTheHostMeant() {
    _ = told(.enable)
    // The request is CLEAR_FEATURE(ENDPOINT_HALT), with a file number in place of the endpoint's address.
    for (file, address) in [(UInt8(1), UInt8(0x81)), (2, 0x02), (7, 0)] {
      let setup = ControlEndpoint.Setup([0x02, 1, 0, 0, file, 0, 0, 0])
      let (reply, effect) = control.handle(.setup(setup))
      #expect(reply == .done)
      #expect(effect == .haltCleared(endpoint: address))
    }
  }
}
