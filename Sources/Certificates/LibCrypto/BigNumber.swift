import CCrypto

extension OpaquePointer {
  /// A BIGNUM as bytes, most significant first, filled up with zeros at the front.
  func bigEndianBytes(_ length: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: length) { output, count in
      let written = BN_bn2binpad(self, output.baseAddress, Int32(length))
      precondition(written == length, "a number does not fit \(length) bytes")
      count = length
    }
  }
}
