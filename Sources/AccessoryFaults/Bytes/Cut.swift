import AccessoryFormats
import IAP2

extension Fault {
  /// Pulls the cable: at once, or when this many bytes or packets have passed in one direction since it began.
  public struct Cut: FaultKind {
    /// Cut after this many bytes in one direction; 0 for no limit.
    public var bytes: Int
    /// Cut after this many packets in one direction; 0 for no limit.
    public var packets: Int

    /// A cut, at once or after a number of bytes or packets.
    public init(bytes: Int = 0, packets: Int = 0) { (self.bytes, self.packets) = (bytes, packets) }

    static let format = Record(
      "cut", "ends the channel after a time, a number of bytes or a number of packets", Cut()
    ) {
      Field(
        "bytes", \.bytes, .integer(0...1_000_000_000),
        "cut after N bytes in one direction; 0 means no limit")
      Field(
        "packets", \.packets, .integer(0...1_000_000_000),
        "cut after N packets in one direction; 0 means no limit")
    }.example("cut,packets=20,out")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { CutStage(bytes: bytes, packets: packets, unit: unit) }
  }
}

/// Passes up to its limit and then cuts; without a limit it cuts as soon as its window opens.
struct CutStage: FaultStage {
  private var bytesLeft: Int?
  private var packetsLeft: Int?
  private var cutter: PacketCutter

  init(bytes: Int, packets: Int, unit: FaultUnit) {
    bytesLeft = bytes == 0 ? nil : bytes
    packetsLeft = packets == 0 ? nil : packets
    cutter = PacketCutter(unit: unit)
  }

  mutating func begin(_ step: inout FaultStep) {
    if bytesLeft == nil, packetsLeft == nil { cut("the cable is pulled", &step) }
  }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    if packetsLeft != nil, let place = placeOfLastPacket(bytes) {
      return pass(bytes, upTo: place, "the cable is pulled after the last packet allowed", &step)
    }
    if let left = bytesLeft {
      if bytes.byteCount >= left {
        return pass(bytes, upTo: left, "the cable is pulled after the last byte allowed", &step)
      }
      bytesLeft = left - bytes.byteCount
    }
    return .whole
  }

  /// Where in this chunk the last packet ends that may pass; nil when more may.
  private mutating func placeOfLastPacket(_ bytes: RawSpan) -> Int? {
    var place: Int?
    var left = packetsLeft ?? 0
    cutter.countPackets(in: bytes) { end in
      left -= 1
      if left == 0 { place = end }
    }
    packetsLeft = left
    return place
  }

  private mutating func pass(_ bytes: RawSpan, upTo count: Int, _ why: String, _ step: inout FaultStep) -> FaultPassage
  {
    step.pass(bytes.extracting(0..<count))
    cut(why, &step)
    return .changed
  }

  private mutating func cut(_ why: String, _ step: inout FaultStep) {
    step.hit(bytes: 0)
    step.cutChannel(why)
  }
}
