/// Reads the values of an object into a tuple, for objects that do not need a type of their own.
///
/// ```swift
/// Arguments("knock", Argument("door", .text, "the door", from: "", isRequired: true), Argument("times", …, from: 3))
/// ```
package struct Arguments<each Value: Equatable & Sendable>: Sendable {
  package let shape: RecordShape
  /// Reads an object, or throws an error that lists all problems in the object.
  package let read: @Sendable (JSON5Value) throws(SourceProblems) -> (repeat each Value)

  package init(_ name: String, _ parameter: repeat Argument<each Value>) {
    var fields: [FieldShape] = []
    for parameter in repeat each parameter { fields += parameter.shape.map { [$0] } ?? [] }
    let keys = fields.map(\.key)
    shape = RecordShape(name: name, summary: "", fields: fields)
    read = { tree throws(SourceProblems) in
      let problems = ProblemCollector()
      let object = ObjectReader(tree, name, keys, at: Place(problems))
      let values = (repeat (each parameter).read(object))
      try problems.throwErrors()
      return values
    }
  }

  private init(
    _ shape: RecordShape, _ read: @escaping @Sendable (JSON5Value) throws(SourceProblems) -> (repeat each Value)
  ) {
    (self.shape, self.read) = (shape, read)
  }

  /// Reads an object into a single value of the record's type.
  package static func all<Root>(_ record: Record<Root>) -> Arguments<Root> {
    Arguments<Root>(record.shape) { tree throws(SourceProblems) in try record.read(tree) }
  }
}

/// One key of ``Arguments``.
package struct Argument<Value: Equatable & Sendable>: Sendable {
  private let field: Field<Value>
  private let standard: Value

  package init(
    _ key: String, _ format: Format<Value>, _ summary: String, from standard: Value, isRequired: Bool = false
  ) {
    field = Field(key, \.self, format, summary, isRequired: isRequired)
    self.standard = standard
  }

  fileprivate var shape: FieldShape? { field.shape(standard) }

  fileprivate func read(_ object: ObjectReader?) -> Value {
    var value = standard
    guard let object else { return value }
    if let given = object.value(field.key) {
      _ = field.read(given, &value, object.place.key(field.key))
    } else if field.isRequired {
      object.require(field.key)
    }
    return value
  }
}
