import Testing

/// Telling code from comments and literals, which every check of the house relies on.
@Suite struct SwiftTextTests {
  @Test(arguments: [
    ("a // b\nc", "a     \nc"),
    ("a /* b /* c */ d */ e", "a                   e"),
    ("a \"b // c\" d", "a          d"),
    ("a \"b\\\"c\" d", "a        d"),
    ("a \"\\(b(\"c\"))\" d", "a   (b(   ))  d"),
    ("a #\"b\"c\\(d)\"# e", "a             e"),
    ("a #\"b\\#(c)d\"# e", "a      (c)    e"),
    ("a \"\"\"\nb \"c\" d\n\"\"\" e", "a    \n       \n    e"),
    ("a \"b\nc", "a   \nc"),
  ]) func onlyCodeIsKept(text: String, code: String) {
    #expect(SwiftText(text).code == code)
  }

  @Test func literalsStayWhenOnlyCommentsGo() {
    #expect(SwiftText("a \"b // c\" // d").withoutComments == "a \"b // c\"     ")
  }

  @Test(arguments: ["\"", "\"\"\"", "/*", "\"\\(", "\"\\", "#\"", "//", "\"\"\"\\(\"", ""])
  func textThatEndsTooSoonIsReadToItsEnd(text: String) {
    #expect(SwiftText(text).code.utf8.count == text.utf8.count)
  }
}
