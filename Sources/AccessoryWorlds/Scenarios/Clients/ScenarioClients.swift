/// The clients there are, by name.
public enum ScenarioClients {
  /// The client that survives every scenario.
  public static let sound: (name: String, type: ScenarioClient.Type) = ("SoundClient", SoundClient.self)

  /// The clients that make one mistake each.
  public static let naive: [(name: String, type: ScenarioClient.Type)] = [
    ("OpensAtFirstConnect", OpensAtFirstConnect.self),
    ("ComparesSerialNumbers", ComparesSerialNumbers.self),
    ("OpensBlindlyLater", OpensBlindlyLater.self),
    ("GivesUpAfterTenSeconds", GivesUpAfterTenSeconds.self),
    ("WaitsForTheDisconnect", WaitsForTheDisconnect.self),
    ("ResumesTheUpload", ResumesTheUpload.self),
    ("WaitsForTheConnect", WaitsForTheConnect.self),
    ("KeepsItsSession", KeepsItsSession.self),
    ("WaitsWithoutEnd", WaitsWithoutEnd.self),
    ("ReadsOnlyWhenTold", ReadsOnlyWhenTold.self),
    ("NeverForgetsFailures", NeverForgetsFailures.self),
    ("WritesOnceAndTrusts", WritesOnceAndTrusts.self),
    ("WritesAllAtOnce", WritesAllAtOnce.self),
    ("GivesUpSlowUploads", GivesUpSlowUploads.self),
    ("BelievesTheFirstByte", BelievesTheFirstByte.self),
  ]

  /// The client of this name.
  public static func named(_ name: String) -> ScenarioClient.Type? {
    ([sound] + naive).first { $0.name == name }?.type
  }
}
