import Testing

@testable import Certificates

@Suite struct DeterministicSignatureTests {
  static let scalar = bytes("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721")

  struct Vector: Sendable {
    let message: String
    let r, s: String
  }

  static let vectors = [
    Vector(
      message: "sample",
      r: "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
      s: "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"),
    Vector(
      message: "test",
      r: "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367",
      s: "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"),
  ]

  @Test(arguments: vectors) func theSignatureIsTheOneOfTheStandard(_ vector: Vector) throws {
    let key = try #require(P256Key(scalar: Self.scalar))
    let signature = key.sign(digest: Digests.sha256(Array(vector.message.utf8)))
    #expect(signature.raw == bytes(vector.r) + bytes(vector.s))
  }

  @Test func extraInputMakesAnotherSignatureThatRepeatsItself() throws {
    let key = try #require(P256Key(scalar: Self.scalar))
    let digest = Digests.sha256([1, 2, 3])
    let plain = key.sign(digest: digest)
    let other = key.sign(digest: digest, extra: [1])
    #expect(other != plain)
    #expect(other == key.sign(digest: digest, extra: [1]))
  }

  @Test func laterNoncesDifferAndStayBelowTheOrder() {
    var nonces = DeterministicNonces(scalar: Self.scalar, digest: Digests.sha256([]))
    let made = (0..<50).map { _ in nonces.next() }
    #expect(Set(made).count == 50)
    #expect(made.allSatisfy { $0.lexicographicallyPrecedes(P256Key.order) })
  }

  @Test func aDigestAboveTheOrderIsReducedBeforeItChoosesTheNonce() {
    // This value is the curve's order plus 5. The value equals 5 modulo the order, so it yields the same nonces as 5.
    var above = P256Key.order
    above[31] += 5
    let five = [UInt8](repeating: 0, count: 31) + [5]
    var left = DeterministicNonces(scalar: Self.scalar, digest: above)
    var right = DeterministicNonces(scalar: Self.scalar, digest: five)
    #expect(left.next() == right.next())
  }

  @Test func scalarsOutsideTheGroupMakeNoKey() {
    #expect(P256Key(scalar: P256Key.order) == nil)
    #expect(P256Key(scalar: [UInt8](repeating: 0xFF, count: 32)) == nil)
    #expect(P256Key(scalar: [UInt8](repeating: 0, count: 32)) == nil)
    #expect(P256Key(scalar: [1]) == nil)
  }
}
