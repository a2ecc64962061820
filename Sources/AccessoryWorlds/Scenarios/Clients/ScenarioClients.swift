/// The example clients, by name.
public enum ScenarioClients {
  /// The client that survives every scenario.
  public static let sound: (name: String, type: ScenarioClient.Type) = ("SoundClient", SoundClient.self)

  /// Clients that make one mistake each: the text completes "the client, which …".
  public static let naive: [(name: String, type: ScenarioClient.Type, mistake: String)] = [
    ("OpensAtFirstConnect", OpensAtFirstConnect.self, "opens a session at the first connect, and gives up if it fails"),
    (
      "ComparesSerialNumbers", ComparesSerialNumbers.self,
      "treats any disconnect with its serial number as its own"
    ),
    (
      "OpensBlindlyLater", OpensBlindlyLater.self,
      "waits, then opens a session without checking"
    ),
    ("GivesUpAfterTenSeconds", GivesUpAfterTenSeconds.self, "stops listening after ten seconds"),
    ("WaitsForTheDisconnect", WaitsForTheDisconnect.self, "expects a disconnect after the end of every session"),
    (
      "ResumesTheUpload", ResumesTheUpload.self,
      "continues where it stopped writing, as if everything written had arrived"
    ),
    (
      "WaitsForTheConnect", WaitsForTheConnect.self,
      "opens sessions at connect notifications only, and never reads the list"
    ),
    ("KeepsItsSession", KeepsItsSession.self, "assumes that its session is still open"),
    ("WaitsWithoutEnd", WaitsWithoutEnd.self, "waits for a reply without a timeout"),
    ("ReadsOnlyWhenTold", ReadsOnlyWhenTold.self, "reads at bytes-available events only, and never checks"),
    ("NeverForgetsFailures", NeverForgetsFailures.self, "counts failures and never resets the count"),
    ("WritesOnceAndTrusts", WritesOnceAndTrusts.self, "writes once and ignores how much was accepted"),
    ("WritesAllAtOnce", WritesAllAtOnce.self, "writes as much at once as the session accepts"),
    ("GivesUpSlowUploads", GivesUpSlowUploads.self, "treats an upload of more than ten seconds as failed"),
    (
      "BelievesTheFirstByte", BelievesTheFirstByte.self,
      "treats the first bytes of a session as the reply to its "
        + "request"
    ),
    ("EndsAtAnyDisconnect", EndsAtAnyDisconnect.self, "ends its session at the disconnect of any accessory"),
    (
      "RetriesWithTheOldAccessory", RetriesWithTheOldAccessory.self,
      "tries again with the accessory of an earlier connect"
    ),
    ("AbortsAtItsTimer", AbortsAtItsTimer.self, "gives up when its timer fires, connected or not"),
    (
      "FreesTheDelegateOfOpenStreams", FreesTheDelegateOfOpenStreams.self,
      "frees the delegate of streams that are still open"
    ),
    ("StopsAtTheSecondFailure", StopsAtTheSecondFailure.self, "stops trying at the second failure in a row"),
    ("OpensForEveryRequest", OpensForEveryRequest.self, "opens a session for each request and closes it afterwards"),
    ("TakesOneReadForAReply", TakesOneReadForAReply.self, "treats what it reads at one event as a whole reply"),
    ("TrustsASilentSession", TrustsASilentSession.self, "never checks whether a silent session still works"),
  ]

  /// The client of this name.
  public static func named(_ name: String) -> ScenarioClient.Type? {
    ([sound] + naive.map { ($0.name, $0.type) }).first { $0.name == name }?.type
  }
}
