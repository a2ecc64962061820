/// The clients there are, by name.
public enum ScenarioClients {
  /// The client that survives every scenario.
  public static let sound: (name: String, type: ScenarioClient.Type) = ("SoundClient", SoundClient.self)

  /// The clients that make one mistake each: "…, which …".
  public static let naive: [(name: String, type: ScenarioClient.Type, mistake: String)] = [
    ("OpensAtFirstConnect", OpensAtFirstConnect.self, "opens a session at the first connect, and gives up without one"),
    ("ComparesSerialNumbers", ComparesSerialNumbers.self, "takes any disconnect of the serial number for its own"),
    ("OpensBlindlyLater", OpensBlindlyLater.self, "waits before it opens a session and does not look again"),
    ("GivesUpAfterTenSeconds", GivesUpAfterTenSeconds.self, "listens for ten seconds and no longer"),
    ("WaitsForTheDisconnect", WaitsForTheDisconnect.self, "takes the end of a session for a disconnect to come"),
    ("ResumesTheUpload", ResumesTheUpload.self, "goes on where it stopped writing, as if all that had arrived"),
    ("WaitsForTheConnect", WaitsForTheConnect.self, "opens sessions when it is told of a connect, and never looks"),
    ("KeepsItsSession", KeepsItsSession.self, "thinks that the session it has is still there"),
    ("WaitsWithoutEnd", WaitsWithoutEnd.self, "waits for an answer for as long as it takes"),
    ("ReadsOnlyWhenTold", ReadsOnlyWhenTold.self, "reads when it is told of bytes, and never looks"),
    ("NeverForgetsFailures", NeverForgetsFailures.self, "counts failures and never begins anew"),
    ("WritesOnceAndTrusts", WritesOnceAndTrusts.self, "writes once and does not look how much was taken"),
    ("WritesAllAtOnce", WritesAllAtOnce.self, "writes as much at once as the session takes"),
    ("GivesUpSlowUploads", GivesUpSlowUploads.self, "calls an upload dead that takes more than ten seconds"),
    ("BelievesTheFirstByte", BelievesTheFirstByte.self, "takes the first bytes of a session for the answer to its own"),
  ]

  /// The client of this name.
  public static func named(_ name: String) -> ScenarioClient.Type? {
    ([sound] + naive.map { ($0.name, $0.type) }).first { $0.name == name }?.type
  }
}
