import Glibc

/// The rates a serial line can be set to.
enum BaudRate {
  /// The rate of a line for which none is given.
  static let usual = 115_200

  /// A rate that the system has no code for.
  struct Unknown: Error, CustomStringConvertible {
    let rate: Int

    var description: String {
      let below = BaudRate.codes.last { $0.rate < rate }?.rate
      let above = BaudRate.codes.first { $0.rate > rate }?.rate
      let near = [below, above].compactMap { $0.map(String.init) }.joined(separator: " and ")
      return "there is no baud rate \(rate); near it: \(near)"
    }
  }

  static func code(_ rate: Int) throws(Unknown) -> speed_t {
    guard let entry = codes.first(where: { $0.rate == rate }) else { throw Unknown(rate: rate) }
    return entry.code
  }

  private static let codes: [(rate: Int, code: speed_t)] = [
    (50, speed_t(B50)), (75, speed_t(B75)), (110, speed_t(B110)), (134, speed_t(B134)), (150, speed_t(B150)),
    (200, speed_t(B200)), (300, speed_t(B300)), (600, speed_t(B600)), (1_200, speed_t(B1200)),
    (1_800, speed_t(B1800)), (2_400, speed_t(B2400)), (4_800, speed_t(B4800)), (9_600, speed_t(B9600)),
    (19_200, speed_t(B19200)), (38_400, speed_t(B38400)), (57_600, speed_t(B57600)), (115_200, speed_t(B115200)),
    (230_400, speed_t(B230400)), (460_800, speed_t(B460800)), (500_000, speed_t(B500000)),
    (576_000, speed_t(B576000)), (921_600, speed_t(B921600)), (1_000_000, speed_t(B1000000)),
    (1_152_000, speed_t(B1152000)), (1_500_000, speed_t(B1500000)), (2_000_000, speed_t(B2000000)),
    (2_500_000, speed_t(B2500000)), (3_000_000, speed_t(B3000000)), (3_500_000, speed_t(B3500000)),
    (4_000_000, speed_t(B4000000)),
  ]
}
