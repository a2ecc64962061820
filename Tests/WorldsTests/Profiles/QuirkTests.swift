import AccessoryFormats
import Testing

@testable import AccessoryProfiles

@Suite struct QuirkTests {
  @Test func theFlickerAloneHasTheDefaultsThatAreOurs() throws {
    let flicker = Flicker()
    #expect(try Quirk("flicker") == .flicker(flicker))
    #expect((flicker.maker, flicker.cycles, flicker.jitter) == (.wire, 1, .zero))
    #expect((flicker.empty, flicker.gap) == (.milliseconds(250), .milliseconds(300)))
    #expect(flicker.answersAuthentication)
    #expect(Flicker.format.summary.contains("arbitrary"))
  }

  @Test func aBareWordIsTheValueOfTheChoiceItBelongsTo() throws {
    #expect(try Quirk("authentication,never") == .authentication(OddAuthentication(.never)))
    #expect(try Quirk("flicker,device,never") == .flicker(Flicker(.device, answersAuthentication: false)))
  }

  /// Tests mistakes that involve several keys or that occur together. The golden texts of ErrorTextTests cover all
  /// other mistakes.
  @Test(arguments: [
    (
      "flicker,jitter=2m",
      "quirk 'flicker,jitter=2m', column 9: jitter: expected a duration from 0ms to 1m, found text '2m'"
    ),
    (
      "ends-sessions,min=3s,max=1s",
      "quirk 'ends-sessions,min=3s,max=1s', column 22: max: a session cannot last at least 3s and at most 1s: 'max' "
        + "must not be shorter than 'min'"
    ),
    (
      "reply-chunking,gleud,gap=5",
      "quirk 'reply-chunking,gleud,gap=5', column 16: unknown word 'gleud' for the quirk 'reply-chunking', did you mean "
        + "'glued'?\nquirk 'reply-chunking,gleud,gap=5', column 22: gap: '5' has no unit: write '5ms', '5s' or '5m'"
    ),
  ])
  func aWrongQuirkIsNamedWithWhatWasMeant(text: String, message: String) {
    let error = #expect(throws: SourceProblems.self) { try Quirk(text) }
    #expect(error?.description == message)
  }

  @Test func whatIsWrittenIsReadBack() throws {
    for quirk in Quirk.format.examples { #expect(try Quirk(quirk.description) == quirk) }
    for kind in Quirk.format.shape.kinds {
      let text = ([kind.name] + kind.fields.map { "\($0.key)=\($0.standard?.word ?? "")" }).joined(separator: ",")
      #expect(try Quirk(text).description == kind.name)
    }
    let text = "flicker,maker=device,cycles=2,empty=1s,gap=2s,jitter=1ms,auth=never"
    #expect(try Quirk(text).description == text)
  }

  @Test func quirksAreReadWithTheirParameters() throws {
    var ends = EndedSessions()
    (ends.shortest, ends.longest, ends.seed) = (.milliseconds(130), .milliseconds(300), 4)
    (ends.episode, ends.calm) = (.seconds(30), .seconds(60))
    var wedges = WedgedByOpens()
    (wedges.opens, wedges.within, wedges.rest) = (3, .seconds(10), .seconds(60))
    var silent = GoesSilent()
    (silent.after, silent.restart) = (.seconds(6), .seconds(60))
    var busy = BusyAfterCancel()
    (busy.touch, busy.reply) = (.seconds(2), .none)
    var phantom = PhantomSession()
    (phantom.within, phantom.ends) = (.zero, .seconds(2))
    var buffer = SmallBuffer()
    (buffer.bytes, buffer.rate) = (64, 100)
    var chunking = ReplyChunking()
    (chunking.pieces, chunking.size) = (.split, 3)
    var settings = FirstSettingsOnly()
    (settings.prefix, settings.end) = ("AT+", .cr)
    var failing = FailingTransactions()
    (failing.transactions, failing.answer) = (2, .close)
    let texts: [(String, Quirk)] = [
      (
        "flicker,auth=never,cycles=3,empty=1.5s",
        .flicker(Flicker(cycles: 3, empty: .milliseconds(1500), answersAuthentication: false))
      ),
      ("ends-sessions,min=130ms,max=300ms,episode=30s,calm=1m,seed=4", .endsSessions(ends)),
      ("wedges-after,opens=3,within=10s,rest=1m", .wedgesAfter(wedges)),
      ("goes-silent,after=6s,restart=1m", .goesSilent(silent)),
      ("busy-after-cancel,none,touch=2s", .busyAfterCancel(busy)),
      ("phantom-session,within=0ms,ends=2s", .phantomSession(phantom)),
      ("drops-beyond,bytes=64,rate=100", .dropsBeyond(buffer)),
      ("reply-chunking,split,size=3", .replyChunking(chunking)),
      ("obeys-first-settings-only,cr,prefix=AT+", .obeysFirstSettingsOnly(settings)),
      ("fails-after-first-transaction,close,transactions=2", .failsAfterFirstTransaction(failing)),
    ]
    for (text, quirk) in texts {
      #expect(try Quirk(text) == quirk)
      #expect(try Quirk(quirk.description) == quirk)
    }
  }

  @Test func aListGivesEachOfItsQuirksOnce() throws {
    let quirks = try ["flicker,cycles=2", "session,silent", "stale-bytes,count=5", "authentication"].map {
      try Quirk($0)
    }
    #expect(quirks.flicker == Flicker(cycles: 2))
    #expect(quirks.session == OddSession(.silent))
    #expect(quirks.contains(.staleBytes(count: 5)))
    #expect(quirks.authentication == OddAuthentication(.refuse))
    #expect([Quirk.noStatus].flicker == nil)
  }
}
