import AccessoryFormats
import AccessoryProfiles

/// Finds shipped scenarios by name and other scenarios by path.
///
/// The build embeds each file in `profiles/scenarios/` as `PackageResources.NAME_json5`. Add each new file to this
/// list. A test compares the list with the directory.
public struct ScenarioLibrary: Sendable {
  package let profiles: ProfileLibrary

  private static let files: [(name: String, bytes: [UInt8])] = [
    ("background-and-back", PackageResources.background_and_back_json5),
    ("busy-after-a-cancelled-request", PackageResources.busy_after_a_cancelled_request_json5),
    ("coalesced-while-suspended", PackageResources.coalesced_while_suspended_json5),
    ("dead-after-a-day", PackageResources.dead_after_a_day_json5),
    ("deaf-after-unregister", PackageResources.deaf_after_unregister_json5),
    ("early-publication", PackageResources.early_publication_json5),
    ("flicker", PackageResources.flicker_json5),
    ("ghost", PackageResources.ghost_json5),
    ("ignored-after-fast-replugging", PackageResources.ignored_after_fast_replugging_json5),
    ("killed-with-a-session-open", PackageResources.killed_with_a_session_open_json5),
    ("large-writes-collapse", PackageResources.large_writes_collapse_json5),
    ("late-authentication", PackageResources.late_authentication_json5),
    ("never-announced", PackageResources.never_announced_json5),
    ("nil-at-first", PackageResources.nil_at_first_json5),
    ("no-answer-to-the-first-write", PackageResources.no_answer_to_the_first_write_json5),
    ("no-room-to-write", PackageResources.no_room_to_write_json5),
    ("only-the-first-settings", PackageResources.only_the_first_settings_json5),
    ("only-the-first-transaction", PackageResources.only_the_first_transaction_json5),
    ("phantom-session", PackageResources.phantom_session_json5),
    ("power-cycled-during-set-up", PackageResources.power_cycled_during_set_up_json5),
    ("pulled-in-the-open-delay", PackageResources.pulled_in_the_open_delay_json5),
    ("pulled-mid-upload", PackageResources.pulled_mid_upload_json5),
    ("radio-shared-with-audio", PackageResources.radio_shared_with_audio_json5),
    ("refused-until-replugged", PackageResources.refused_until_replugged_json5),
    ("replies-in-pieces", PackageResources.replies_in_pieces_json5),
    ("retry-with-the-old-accessory", PackageResources.retry_with_the_old_accessory_json5),
    ("second-session-crashes", PackageResources.second_session_crashes_json5),
    ("session-closed-by-the-accessory", PackageResources.session_closed_by_the_accessory_json5),
    ("session-taken-by-another-sdk", PackageResources.session_taken_by_another_sdk_json5),
    ("sessions-end-at-once", PackageResources.sessions_end_at_once_json5),
    ("sessions-end-in-episodes", PackageResources.sessions_end_in_episodes_json5),
    ("silent-after-the-background", PackageResources.silent_after_the_background_json5),
    ("silent-stall", PackageResources.silent_stall_json5),
    ("slow-after-coming-forward", PackageResources.slow_after_coming_forward_json5),
    ("slow-set-up-in-the-background", PackageResources.slow_set_up_in_the_background_json5),
    ("small-buffer-drops-bytes", PackageResources.small_buffer_drops_bytes_json5),
    ("stale-bytes", PackageResources.stale_bytes_json5),
    ("the-other-accessory-leaves", PackageResources.the_other_accessory_leaves_json5),
    ("there-before-the-app", PackageResources.there_before_the_app_json5),
    ("timer-aborts-the-connection", PackageResources.timer_aborts_the_connection_json5),
    ("told-of-bytes-only-once", PackageResources.told_of_bytes_only_once_json5),
    ("transport-switch", PackageResources.transport_switch_json5),
    ("two-apps-and-neither-connects", PackageResources.two_apps_and_neither_connects_json5),
    ("unannounced-in-the-background", PackageResources.unannounced_in_the_background_json5),
    ("wedged-by-fast-opening", PackageResources.wedged_by_fast_opening_json5),
  ]

  /// Creates a library. The scenarios in the library look up the profiles of their accessories in `profiles`.
  public init(profiles: ProfileLibrary = ProfileLibrary()) {
    self.profiles = profiles
  }

  /// The names of the shipped scenarios.
  public var names: [String] { Self.files.map(\.name) }

  /// Returns the scenario with this name or path. A reference that contains a `/` or has an extension is a path.
  public func scenario(_ reference: String) throws(SourceProblems) -> Scenario {
    try Scenario(source(reference), profiles: profiles)
  }

  package func source(_ reference: String) throws(SourceProblems) -> ScenarioSource {
    if ProfileLibrary.isPath(reference) {
      let file = reference.split(separator: "/").last.map(String.init) ?? reference
      return ScenarioSource(
        name: file.split(separator: ".").first.map(String.init) ?? file, path: reference,
        bytes: try read(reference))
    }
    let found = try embedded(reference)
    return ScenarioSource(name: found.name, path: "\(found.name).json5", bytes: found.bytes)
  }

  /// Returns the original text of a scenario, including comments. The scenario is given by its name or path.
  public func text(_ reference: String) throws(SourceProblems) -> String {
    String(decoding: try source(reference).bytes, as: UTF8.self)
  }

  private func embedded(_ name: String) throws(SourceProblems) -> (name: String, bytes: [UInt8]) {
    if let found = Self.files.first(where: { $0.name == name }) { return found }
    let hint = Suggestion.hint(for: name, in: names) + TextFile.hint(forFileNamed: name)
    throw SourceProblems([SourceProblem(at: nil, "no scenario '\(name)'\(hint)")])
  }

  private static let sizeLimit = 1 << 20

  private func read(_ path: String) throws(SourceProblems) -> [UInt8] {
    do { return try profiles.readFile(path, Self.sizeLimit) } catch {
      throw SourceProblems([SourceProblem(at: nil, error.description)])
    }
  }
}

/// A scenario file that has not been parsed yet.
package struct ScenarioSource {
  package let name: String
  /// The name used for the file in messages.
  package let path: String
  package let bytes: [UInt8]

  package init(name: String, path: String, bytes: [UInt8]) {
    (self.name, self.path, self.bytes) = (name, path, bytes)
  }
}
