extension Link {
  /// The values that every packet needs, from the agreement and from what is known about the line.
  struct Terms {
    var isUp = false
    var isZeroAcknowledgement = false
    var sendWindow = 0
    var receiveWindow: UInt8 = 0
    var maximumPayload = 0
    /// Of External Accessory data, which may go in shorter packets than control messages.
    var maximumDataPayload = 0
    var cumulativeLimit = 1
    var retransmissionLimit: UInt8 = 0
    var retransmissionTimeout: Milliseconds = 0
    var acknowledgementTimeout: Milliseconds = 0

    /// The terms of a link that is down.
    init() {}

    /// The terms of a link in this phase.
    init(_ phase: Phase, _ settings: LinkSettings) {
      guard case .established(let agreement) = phase else { return }
      let allowance = settings.allowance(timeout: agreement.retransmissionTimeout)
      let longest = min(allowance?.length ?? .max, Int(agreement.peerMaximumPacketLength))
      isUp = true
      isZeroAcknowledgement = agreement.isZeroAcknowledgement
      // A window of 0 comes from an offer without acknowledgements that was declined: one packet is the least there is.
      sendWindow =
        agreement.isZeroAcknowledgement
        ? .max : max(1, min(Int(agreement.peerMaximumOutstandingPackets), allowance?.packets(of: longest) ?? .max))
      receiveWindow = agreement.maximumOutstandingPackets
      maximumPayload = agreement.maximumPayload
      maximumDataPayload = longest - PacketHeader.overhead
      // A sender never waits for more packets than may be outstanding.
      cumulativeLimit = max(
        1, Int(min(agreement.maximumCumulativeAcknowledgements, agreement.maximumOutstandingPackets)))
      retransmissionLimit = agreement.maximumRetransmissions
      retransmissionTimeout = agreement.retransmissionTimeout
      acknowledgementTimeout = agreement.cumulativeAcknowledgementTimeout
    }
  }
}

/// How much may be in flight in each direction on a line that is known to be slow: what it carries in half the agreed
/// retransmission timeout.
///
/// The timeout is fixed when the link is made, and starts when a packet is handed to the line, however long it then
/// waits for earlier packets. With an iPhone's window of 127 packets of 65,535 bytes, a continuous writer fills a
/// line of 7,500 bytes a second for minutes; so every packet is late and sent again, and the repetitions delay the
/// others. iAP2 does not measure the line, but each end may announce fewer and shorter packets, and send fewer than
/// the other accepts. The other half of the timeout is left for acknowledgements, which wait behind data of the other
/// direction.
/// the other takes: the half leaves the other for acknowledgements, which wait for what goes the other way.
struct LineAllowance {
  /// Certificates and identifications fit one packet of this length.
  private static let leastLength = 2_048

  private let bytes: Int

  /// What may be in flight on a line of this rate.
  init(bytesPerSecond: Int, timeout: Milliseconds) {
    let (product, overflows) = bytesPerSecond.multipliedReportingOverflow(by: Int(timeout.count))
    bytes = overflows ? .max : product / 2_000
  }

  /// The longest packet: a few of them fit, so that one can be acknowledged while others are in flight.
  var length: Int { min(max(bytes / 4, Self.leastLength), Int(UInt16.max)) }

  /// How many packets of up to `length` bytes.
  func packets(of length: Int) -> Int { max(1, bytes / min(length, self.length)) }

  /// Announcements that keep what the other end sends to this.
  func limiting(_ parameters: LinkParameters) -> LinkParameters {
    var limited = parameters
    limited.maximumPacketLength = UInt16(min(length, Int(parameters.maximumPacketLength)))
    limited.maximumOutstandingPackets = UInt8(
      min(packets(of: Int(limited.maximumPacketLength)), Int(parameters.maximumOutstandingPackets)))
    return limited
  }
}

extension LinkSettings {
  /// What may be in flight when packets are sent again after `timeout` milliseconds; nil when the line's rate is
  /// unknown.
  func allowance(timeout: Milliseconds) -> LineAllowance? {
    guard let lineRate, lineRate > 0, timeout.count > 0 else { return nil }
    return LineAllowance(bytesPerSecond: lineRate, timeout: timeout)
  }

  /// What an accessory offers instead of `parameters` where the line is slow. It may ask for no more packets to one
  /// acknowledgement than may be outstanding.
  func offer(_ parameters: LinkParameters) -> LinkParameters {
    guard let allowance = allowance(timeout: Milliseconds(Int64(parameters.retransmissionTimeout))) else {
      return parameters
    }
    var offer = allowance.limiting(parameters)
    offer.maximumCumulativeAcknowledgements = min(
      offer.maximumCumulativeAcknowledgements, offer.maximumOutstandingPackets)
    return offer
  }
}
