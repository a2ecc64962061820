extension Record {
  /// Reads a tree that a later version may have written: keys that are not known are passed over, here and in the objects
  /// within.
  public func readKnown(_ tree: JSON5Value) throws(SourceProblems) -> Root { try read(shape.known(in: tree)) }
}

extension RecordShape {
  fileprivate func known(in tree: JSON5Value) -> JSON5Value {
    guard case .object(let members) = tree.content else { return tree }
    let known = members.compactMap { member in
      fields.first { $0.key == member.key }.map {
        JSON5Member(member.key, $0.shape.known(in: member.value), at: member.keyPosition)
      }
    }
    return JSON5Value(.object(known), at: tree.position)
  }
}

extension Shape {
  fileprivate func known(in tree: JSON5Value) -> JSON5Value {
    switch (self, tree.content) {
    case (.record(let record), _): record.known(in: tree)
    case (.list(let element, _), .array(let values)):
      JSON5Value(.array(values.map { element.known(in: $0) }), at: tree.position)
    default: tree
    }
  }
}
