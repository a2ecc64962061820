import AccessoryCore

func bytes(_ digits: String) -> [UInt8] {
  do { return try Hex.parse(digits) } catch { preconditionFailure("\(error): \(digits)") }
}

extension [UInt8] {
  func flipped(bit: Int) -> [UInt8] {
    var copy = self
    copy[bit / 8] ^= 1 << UInt8(bit % 8)
    return copy
  }
}
