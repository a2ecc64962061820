import Glibc
import Testing

/// Creates or accepts sockets as another user. This requires root. The kernel records the current thread's user for
/// each socket.
func asUser<Result>(_ user: uid_t, _ make: () throws -> Result) throws -> Result {
  typealias SetUser = @convention(c) (uid_t) -> Int32
  let setUser = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: SetUser.self)
  _ = setUser(user)
  defer { _ = setUser(0) }
  return try make()
}
