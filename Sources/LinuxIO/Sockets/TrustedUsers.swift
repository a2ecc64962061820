import Glibc

/// The users of this machine that are trusted at the other end of a socket: root, this process's user and, when sudo
/// made this process root's, the user who called sudo.
package struct TrustedUsers: Equatable, Sendable {
  private let users: Set<UInt32>

  /// - Parameters:
  ///   - user: this process's user.
  ///   - sudoUser: what sudo left in `SUDO_UID`, which counts for root alone.
  package init(user: UInt32 = geteuid(), sudoUser: String? = getenv("SUDO_UID").map { String(cString: $0) }) {
    let caller = user == 0 ? sudoUser.flatMap { UInt32($0) } : nil
    users = Set([0, user] + (caller.map { [$0] } ?? []))
  }

  /// Whether this user is one of them.
  package func contains(_ user: UInt32) -> Bool { users.contains(user) }

  /// All of them for a sentence: "root and user 1000". `word` is put before the last.
  package func names(_ word: String = "and") -> String {
    let others = users.filter { $0 != 0 }.sorted().map { "user \($0)" }
    return (["root"] + others).joined(separator: " \(word) ")
  }
}

/// Why the other end of a socket is refused; nil when it is trusted.
extension TrustedUsers {
  /// A process at the other end of a unix socket, or what could not be found out about it.
  package func refusal(of process: PeerProcess?) -> String? {
    guard let process else { return unknown }
    return contains(process.user) ? nil : other(process.user)
  }

  /// The other end of a TCP connection. Another machine is a matter of ``TransportOptions/allowsRemote``.
  package func refusal(of peer: TCPPeer) -> String? {
    switch peer {
    case .remote: nil
    case .user(let user): contains(user) ? nil : other(user)
    case .unknown: unknown
    }
  }

  /// The process that listens where this one has connected.
  package func refusal(ofServer process: PeerProcess?) -> String? {
    guard let process else { return "the system does not show which user it belongs to" }
    return contains(process.user) ? nil : "it belongs to user \(process.user), and only \(names()) are trusted"
  }

  private func other(_ user: UInt32) -> String { "it belongs to user \(user), and only \(names()) may connect" }

  private var unknown: String {
    "the system does not show which user it belongs to, and only \(names()) may connect"
  }
}
