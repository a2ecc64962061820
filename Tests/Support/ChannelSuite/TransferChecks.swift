import AccessoryFormats

extension ChannelSuite {
  static let transferChecks: [ChannelCheck] = [
    ChannelCheck("everyByteArrivesOnceAndInOrderBothWays") { pair in
      let megabyte = 1 << 20
      pair.start()
      pair.left.stream(megabyte, chunk: 10_240)
      pair.right.stream(megabyte, chunk: 65_536)
      try pair.rig.run("a megabyte arrived both ways") {
        pair.left.received >= megabyte && pair.right.received >= megabyte
      }
      try require(pair.left.hasStreamed && pair.right.hasStreamed, "more arrived than was sent")
    },

    ChannelCheck("bytesArriveTheSameHoweverTheyAreSplit") { pair in
      var random = SeededRandom(seed: 3)
      pair.start()
      for _ in 0..<300 {
        let count = Int.random(in: 1...5_000, using: &random)
        pair.left.stream(count, chunk: Int.random(in: 1...count, using: &random))
        if Int.random(in: 0..<4, using: &random) == 0 {
          try pair.rig.run("what was sent arrived") {
            pair.left.hasStreamed && pair.right.received == pair.left.sent
          }
        }
      }
      try pair.rig.run("all arrived") { pair.left.hasStreamed && pair.right.received == pair.left.sent }
    },

    ChannelCheck("singleBytesArriveInOrder") { pair in
      pair.start()
      pair.left.stream(2_000, chunk: 1)
      pair.right.stream(2_000, chunk: 1)
      try pair.rig.run("every single byte arrived") { pair.left.received == 2_000 && pair.right.received == 2_000 }
    },

    ChannelCheck("aHeadAndTheBodyBehindItArriveInOrder") { pair in
      pair.start()
      for (head, chunk) in [(48, 10_048), (48, 48), (0, 700), (9_000, 9_001), (48, 65_536)] {
        pair.left.headCount = head
        pair.left.stream(200_000, chunk: chunk)
        try pair.rig.run("chunks of \(chunk) with heads of \(head) arrived") {
          pair.left.hasStreamed && pair.right.received == pair.left.sent
        }
      }
    },

    ChannelCheck("anEmptySendTakesNothingAndHarmsNothing") { pair in
      pair.start()
      try require(pair.left.send(0) == 0, "an empty send took something")
      pair.left.stream(10, chunk: 10)
      try pair.rig.run("the bytes after an empty send arrived") { pair.right.received == 10 }
      try require(pair.left.writableCalls == 0, "an empty send was answered with 'writable'")
    },

    ChannelCheck("whatIsSentBeforeTheOtherEndStartsWaitsForIt") { pair in
      pair.left.start()
      pair.left.stream(1_000, chunk: 100)
      pair.right.start()
      try pair.rig.run("the early bytes arrived") { pair.right.received == 1_000 }
    },

    ChannelCheck("anAnswerMayBeSentFromTheReceptionItself") { pair in
      pair.start()
      // Each end sends back whatever it receives, so a single stream circulates until enough bytes have been sent.
      pair.right.onReceived = { pair.right.stream($0, chunk: $0) }
      pair.left.onReceived = { if pair.left.sent < 200_000 { pair.left.stream($0, chunk: $0) } }
      pair.left.stream(4_000, chunk: 1_000)
      try pair.rig.run("the bytes made their rounds") {
        pair.left.sent >= 200_000 && pair.left.received == pair.left.sent
      }
    },
  ]
}
