import AccessoryFormats

extension ChannelSuite {
  /// Order and completeness, however the bytes are cut.
  static let transferChecks: [ChannelCheck] = [
    ChannelCheck("everyByteArrivesOnceAndInOrderBothWays") { bench in
      let megabyte = 1 << 20
      bench.start()
      bench.left.stream(megabyte, chunk: 10_240)
      bench.right.stream(megabyte, chunk: 65_536)
      try bench.rig.run("a megabyte arrived both ways") {
        bench.left.received >= megabyte && bench.right.received >= megabyte
      }
      try require(bench.left.hasStreamed && bench.right.hasStreamed, "more arrived than was sent")
    },

    ChannelCheck("bytesArriveTheSameHoweverTheyAreSplit") { bench in
      var random = SeededRandom(seed: 3)
      bench.start()
      for _ in 0..<300 {
        let count = Int.random(in: 1...5_000, using: &random)
        bench.left.stream(count, chunk: Int.random(in: 1...count, using: &random))
        if Int.random(in: 0..<4, using: &random) == 0 {
          try bench.rig.run("what was sent arrived") {
            bench.left.hasStreamed && bench.right.received == bench.left.sent
          }
        }
      }
      try bench.rig.run("all arrived") { bench.left.hasStreamed && bench.right.received == bench.left.sent }
    },

    ChannelCheck("singleBytesArriveInOrder") { bench in
      bench.start()
      bench.left.stream(2_000, chunk: 1)
      bench.right.stream(2_000, chunk: 1)
      try bench.rig.run("every single byte arrived") { bench.left.received == 2_000 && bench.right.received == 2_000 }
    },

    ChannelCheck("aHeadAndTheBodyBehindItArriveInOrder") { bench in
      bench.start()
      for (head, chunk) in [(48, 10_048), (48, 48), (0, 700), (9_000, 9_001), (48, 65_536)] {
        bench.left.headCount = head
        bench.left.stream(200_000, chunk: chunk)
        try bench.rig.run("chunks of \(chunk) with heads of \(head) arrived") {
          bench.left.hasStreamed && bench.right.received == bench.left.sent
        }
      }
    },

    ChannelCheck("anEmptySendTakesNothingAndHarmsNothing") { bench in
      bench.start()
      try require(bench.left.send(0) == 0, "an empty send took something")
      bench.left.stream(10, chunk: 10)
      try bench.rig.run("the bytes after an empty send arrived") { bench.right.received == 10 }
      try require(bench.left.writableCalls == 0, "an empty send was answered with 'writable'")
    },

    ChannelCheck("whatIsSentBeforeTheOtherEndStartsWaitsForIt") { bench in
      bench.left.start()
      bench.left.stream(1_000, chunk: 100)
      bench.right.start()
      try bench.rig.run("the early bytes arrived") { bench.right.received == 1_000 }
    },

    ChannelCheck("anAnswerMayBeSentFromTheReceptionItself") { bench in
      bench.start()
      // Both send back what they get, so one stream runs in circles until it has run far enough.
      bench.right.onReceived = { bench.right.stream($0, chunk: $0) }
      bench.left.onReceived = { if bench.left.sent < 200_000 { bench.left.stream($0, chunk: $0) } }
      bench.left.stream(4_000, chunk: 1_000)
      try bench.rig.run("the bytes made their rounds") {
        bench.left.sent >= 200_000 && bench.left.received == bench.left.sent
      }
    },
  ]
}
