import IAP2
import Testing

@Suite struct ConversationTests {
  @Test func theWholeWayToAReadyAccessoryReadsAsTheSheetSays() {
    var wire = Wire()
    wire.start()
    #expect(
      wire.lines == [
        "A DETECT",
        "D DETECT",
        "A SYN seq=0 ack=0 window=32 length=65535 timeout=2000 hold=22 repeats=30 acks=3 sessions=1:control,2:accessory",
        "D SYN+ACK seq=0 ack=0 window=127 length=65535 timeout=2000 hold=22 repeats=30 acks=3 sessions=1:control,2:accessory",
        "A ACK seq=0 ack=0",
        "D DATA seq=1 ack=0 session=1 AA00 RequestAuthenticationCertificate",
        "A DATA seq=1 ack=1 session=1 AA01 AuthenticationCertificate certificate=cececececececece…(607)",
        "D DATA seq=2 ack=1 session=1 AA02 RequestAuthenticationChallengeResponse challenge=4242424242424242…(32)",
        "A DATA seq=2 ack=2 session=1 AA03 AuthenticationResponse response=4242424242424242…(64)",
        "D DATA seq=3 ack=2 session=1 AA05 AuthenticationSucceeded",
        "D DATA seq=4 ack=2 session=1 1D00 StartIdentification",
        "A DATA seq=3 ack=4 session=1 1D01 IdentificationInformation name=\"Example\" model=\"E1\" "
          + "manufacturer=\"Nobody\" serial-number=\"0001\" firmware-version=\"1\" hardware-version=\"1\" "
          + "messages-sent=[EA03] messages-received=[EA00 EA01] power-capability=0 maximum-current-mA=0 "
          + "protocol={id=1 name=\"com.example.echo\" match-action=1} current-language=\"en\" supported-language=\"en\" "
          + "USB-host-transport={component=0 name=\"USB\" iAP2=yes}",
        "D DATA seq=5 ack=3 session=1 1D02 IdentificationAccepted",
      ])
    #expect(wire.deviceEvents.last == .ready)
    #expect(wire.accessoryEvents.last == .identificationAccepted)
  }
}
