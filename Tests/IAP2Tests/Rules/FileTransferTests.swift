import AccessoryFormats
import IAP2
import TestSupport
import Testing

/// Checks that a file is received either completely or not at all.
@Suite struct FileTransferTests {
  private func receive(_ receiver: inout FileReceiver, _ packets: String...) -> [FileReceiver.Action] {
    packets.flatMap { receiver.receive(Sheet.unhex($0)) }
  }

  @Test func aFileComesInThreePieces() {
    var receiver = FileReceiver()
    #expect(
      receive(&receiver, "8004 0000000000000005 0002") == [.began(0x80, size: 5), .send([0x80, 0x01])])
    #expect(receive(&receiver, "8080 0102", "8000 03", "8003") == [])
    #expect(
      receive(&receiver, "8040 0405") == [.send([0x80, 0x05]), .received(0x80, type: 2, [1, 2, 3, 4, 5])])
  }

  @Test func aFileComesAtOnceOrIsEmpty() {
    var receiver = FileReceiver()
    #expect(
      receive(&receiver, "8104 0000000000000001", "81c0 07") == [
        .began(0x81, size: 1), .send([0x81, 0x01]), .send([0x81, 0x05]), .received(0x81, type: nil, [7]),
      ])
    #expect(receive(&receiver, "8204 0000000000000000") == [.send([0x82, 0x05]), .received(0x82, type: nil, [])])
  }

  @Test func incompleteFilesAreDropped() {
    var receiver = FileReceiver(limit: 8)
    #expect(
      receive(&receiver, "8004 0000000000000009") == [
        .send([0x80, 0x02]), .failed(0x80, "it has 9 bytes; the limit is 8"),
      ])
    _ = receive(&receiver, "8104 0000000000000004", "8180 0102")
    #expect(receive(&receiver, "8102") == [.failed(0x81, "the sender cancelled it")])
    _ = receive(&receiver, "8104 0000000000000004")
    #expect(
      receive(&receiver, "81c0 01")
        == [.send([0x81, 0x02]), .failed(0x81, "received 1 bytes, but its setup announced 4")])
    _ = receive(&receiver, "8104 0000000000000002")
    #expect(
      receive(&receiver, "8180 010203")
        == [.send([0x81, 0x02]), .failed(0x81, "received 3 bytes, but its setup announced 2")])
    _ = receive(&receiver, "8104 0000000000000002")
    #expect(receiver.stop() == [.failed(0x81, "the link went down")])
  }

  @Test func atMostFourTransfersRunAtOnce() {
    var receiver = FileReceiver()
    for id in 0..<FileReceiver.transferLimit { _ = receive(&receiver, "8\(id)04 0000000000000002") }
    #expect(
      receive(&receiver, "8f04 0000000000000002") == [
        .send([0x8F, 0x02]), .failed(0x8F, "\(FileReceiver.transferLimit) other transfers are in progress"),
      ])
  }

  /// Whatever is sent, a received file has its announced size, and every transfer that begins also ends.
  @Test func packetsByChanceMakeWholeFilesOrNone() {
    for seed: UInt64 in 1...200 {
      var random = SeededRandom(seed: seed)
      var receiver = FileReceiver(limit: 20)
      var sizes: [UInt8: Int] = [:]
      for _ in 0..<200 {
        let id = 0x80 + UInt8(random.below(6))
        let operations: [UInt8] = [0x04, 0x80, 0x00, 0x40, 0xC0, 0x02, 0x03, random.byte()]
        let operation = operations[random.below(operations.count)]
        let size: [UInt8] = operation == 0x04 ? [0, 0, 0, 0, 0, 0, 0, UInt8(random.below(24))] : []
        for action in receiver.receive([id, operation] + size + random.bytes(random.below(12))) {
          switch action {
          case .began(let id, let size): sizes[id] = size
          case .received(let id, _, let bytes): #expect(sizes.removeValue(forKey: id) ?? 0 == bytes.count)
          case .failed(let id, _): sizes[id] = nil
          case .send(let answer): #expect([0x01, 0x02, 0x05].contains(answer[1]))
          case .malformed: break
          }
        }
        #expect(sizes.count <= FileReceiver.transferLimit)
      }
      #expect(receiver.stop().count == sizes.count)
    }
  }

  @Test(arguments: ["80", "8004 00", "8077", "8000 01"])
  func nonsenseIsReported(_ packet: String) {
    var receiver = FileReceiver()
    guard case .malformed? = receive(&receiver, packet).first else {
      Issue.record("\(packet) is no nonsense")
      return
    }
  }

  @Test(arguments: [0, 1, 9, 10, 11, 25])
  func whatIsSentIsWhatIsReceived(_ size: Int) throws {
    let bytes = (0..<size).map { UInt8($0) }
    var sender = FileSender(pieceSize: 10)
    var receiver = FileReceiver()
    let begun = sender.begin(bytes, type: 2)
    let (id, setup) = try #require(begun)
    #expect(id == 0x80)
    var toReceiver = [setup]
    var got: [UInt8]?
    var isDelivered = false
    while let packet = toReceiver.first {
      toReceiver.removeFirst()
      for action in receiver.receive(packet) {
        if case .received(_, _, let whole) = action { got = whole }
        guard case .send(let answer) = action else { continue }
        for reaction in sender.receive(answer) {
          switch reaction {
          case .send(let piece): toReceiver.append(piece)
          case .delivered: isDelivered = true
          case .cancelled: Issue.record("nobody cancelled")
          }
        }
      }
    }
    #expect(got == bytes)
    #expect(isDelivered == (size > 0))
  }

  /// A peer that requests the same file repeatedly receives the file's bytes only once.
  @Test func aFileIsSentOnce() throws {
    var sender = FileSender(pieceSize: 2)
    let begun = sender.begin([1, 2, 3], type: nil)
    let (id, _) = try #require(begun)
    #expect(sender.receive([id, 0x01]) == [.send([id, 0x80, 1, 2]), .send([id, 0x40, 3])])
    #expect(sender.receive([id, 0x01]) == [])
    #expect(sender.isUnderWay(id))
    #expect(sender.receive([id, 0x05]) == [.delivered(id)])
    #expect(!sender.isUnderWay(id))
  }

  @Test func aFileThatIsNotWantedIsForgotten() throws {
    var sender = FileSender(pieceSize: 10)
    let begun = sender.begin([1], type: nil)
    let (id, _) = try #require(begun)
    #expect(sender.receive([id, 0x02]) == [.cancelled(id)])
    #expect(sender.receive([id, 0x01]) == [])
    let second = sender.begin([1], type: nil)
    #expect(second?.id == 0x81)
  }
}
