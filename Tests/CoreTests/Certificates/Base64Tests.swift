import Testing

@testable import Certificates

@Suite struct Base64Tests {
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func bothWays(plain: String, text: String) {
    #expect(Base64.text(Array(plain.utf8)) == text)
    #expect(Base64.bytes(text) == Array(plain.utf8))
  }

  @Test func everyByteComesBack() {
    let all = Array(UInt8.min...UInt8.max)
    for count in 0...256 { #expect(Base64.bytes(Base64.text(Array(all[..<count]))) == Array(all[..<count])) }
  }

  @Test(arguments: [
    "Zg", "Zg=", "=Zg=", "Zg=v", "Z===", "====", "Zm9v Zm9", " Zg=", "Zg==\n", "Zg==    ", "Zm9v----", "Zm9v\n\n\n\n",
    "Zm8-", "Zm8_", "Zm€v", "\0\0\0\0",
  ])
  func whatIsNoBase64IsRefused(text: String) {
    #expect(Base64.bytes(text) == nil)
  }
}
