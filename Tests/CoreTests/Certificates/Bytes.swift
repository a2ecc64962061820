func bytes(_ digits: String) -> [UInt8] {
  let values = digits.compactMap { $0.hexDigitValue }
  precondition(values.count == digits.count && values.count % 2 == 0, "not hexadecimal: \(digits)")
  return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
}

extension [UInt8] {
  func flipped(bit: Int) -> [UInt8] {
    var copy = self
    copy[bit / 8] ^= 1 << UInt8(bit % 8)
    return copy
  }
}
