/// Bytes as a person reads them in a message: "30 82 02 5b … (607 bytes)". Never more than `limit` of them.
func hexadecimal(_ bytes: some Collection<UInt8>, limit: Int = 16) -> String {
  let digits = Array("0123456789abcdef".utf8)
  var text: [UInt8] = []
  for byte in bytes.prefix(limit) {
    if !text.isEmpty { text.append(UInt8(ascii: " ")) }
    text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }
  let shown = String(decoding: text, as: UTF8.self)
  return bytes.count > limit ? "\(shown) … (\(bytes.count) bytes)" : shown
}
