import AccessoryCore
import AccessorySessions
import AccessorySimulator
import IAP2

/// What an accessory of the soak does with its sessions: its streams, or the built-in echo with counters.
struct SoakBehavior: AccessoryBehavior {
  let makeHandler: (Session) -> any SessionHandler

  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler { makeHandler(session) }
}

/// The built-in echo with counters. The other end checks its bytes.
final class SoakEcho: SessionHandler {
  private let echo: any SessionHandler
  private let account: SoakAccount
  private let record: SoakRecord

  init(_ session: Session, _ account: SoakAccount, on loop: any EventLoop, _ record: SoakRecord) {
    self.account = account
    self.record = record
    echo = record.echo.makeHandler(for: session, in: BehaviorContext(loop: loop))
    account.simulator.isOpen = true
    account.simulator.session = session
    record.leaks.watch(session, "session", Int(account.id))
  }

  func sessionIsReadable(_ session: Session) {
    echo.sessionIsReadable(session)
    count(session)
  }

  func sessionIsWritable(_ session: Session) {
    echo.sessionIsWritable(session)
    count(session)
  }

  func session(_ session: Session, endedWith end: SessionEnd) {
    echo.session(session, endedWith: end)
    count(session)
    account.simulator.end = end
    record.hash.add(end.description)
  }

  private func count(_ session: Session) {
    account.simulator.read = session.bytesRead
    account.simulator.written = session.bytesWritten
  }
}
