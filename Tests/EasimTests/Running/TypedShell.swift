import Glibc
import TestSupport
import Testing

/// An interactive bash with easim's completion. The shell receives lines key by key, so that a test sees what readline
/// actually inserts and what the shell then runs.
///
/// The keys are read from a file, byte by byte, so the result does not depend on timing. In this shell, `easim` is
/// `Tests/Support/TypedShell/easim`, which asks the real program for completions and records the words of all other
/// commands.
///
/// ```swift
/// let shell = TypedShell()
/// #expect(try shell.run("easim wat\t") == [["watch"]])
/// ```
final class TypedShell {
  let place = TemporaryFolder()
  var environment: [String: String] = [:]
  var settings = ""

  init() {
    place.makeFolder("here")
    place.makeFolder("config/easim/profiles")
  }

  var names: [String] { place.names("here") }

  func put(_ name: String) { place.write("", to: "here/\(name)") }

  func addProfile(_ name: String, _ text: String = "{ version: 1, extends: 'echo' }") {
    place.write(text, to: "config/easim/profiles/\(name).json5")
  }

  func run(_ lines: [String]) throws -> [[String]] { try type(lines) }

  func run(_ line: String) throws -> [[String]] { try type([line]) }

  /// Returns the completions offered at the end of a line, exactly as the shell would insert them.
  func offers(_ line: String) throws -> [String] {
    let noting = #"_noting() { _easim "$@"; printf '%s\0' "${#COMPREPLY[@]}" "${COMPREPLY[@]}" >>"$NOTES"; }"#
    // Clears the line instead of running it.
    let notes = try type([noting, "complete -F _noting easim", "\(line)\t\u{15}"])
    return try #require(notes.first, "the completion was not asked")
  }

  private func type(_ lines: [String]) throws -> [[String]] {
    place.write("", to: "notes")
    let keys = place.write(
      (["source <(easim completion bash)", settings] + lines).joined(separator: "\n") + "\n", to: "keys")
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    let own = [
      "PATH": "\(Repository.root)/Tests/Support/TypedShell:\(path)", "EASIM": BuiltProducts.easim,
      "NOTES": place.file("notes"), "INPUTRC": "/dev/null",
      "XDG_CONFIG_HOME": place.file("config"), "TERM": "dumb",
    ]
    let bash = try Program(
      path: "/bin/bash",
      ["-c", #"cd -- "$1" && exec bash --norc --noprofile -i <"$2""#, "bash", place.file("here"), keys],
      environment: own.merging(environment) { $1 }
    ).wait()
    return try Self.read(place.bytes("notes") ?? [], bash)
  }

  /// Reads the recorded commands. Each command is a count followed by that many words. The count and each word end with
  /// a zero byte.
  private static func read(_ notes: [UInt8], _ bash: Program.Remains) throws -> [[String]] {
    var words = notes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
      .map { String(decoding: $0, as: UTF8.self) }[...]
    var groups: [[String]] = []
    while let count = words.popFirst() {
      let number = try #require(Int(count), "\(bash.out)\n\(bash.err)")
      groups.append(Array(words.prefix(number)))
      words = words.dropFirst(number)
    }
    return groups
  }
}
