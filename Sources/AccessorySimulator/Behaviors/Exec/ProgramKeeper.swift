/// Holds the programs that an accessory's sessions started, until each has ended: a session may be long over while its
/// program still takes its leave.
///
final class ProgramKeeper {
  private var programs: [ObjectIdentifier: AnyObject] = [:]

  /// How many have not ended.
  var count: Int { programs.count }

  func keep(_ program: AnyObject) { programs[ObjectIdentifier(program)] = program }

  func forget(_ program: AnyObject) { programs[ObjectIdentifier(program)] = nil }

  /// Ends what is left at once.
  func endAll() { programs = [:] }
}
