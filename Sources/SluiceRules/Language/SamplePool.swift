internal import FoundationEssentials
internal import SluiceModel
internal import SluiceQuery

/// Makes values that variables may have, to find out whether a comparison fits any of them.
struct SamplePool {
    private let document: RulesDocument
    private let schema: Schema

    init(_ document: RulesDocument, schema: Schema) {
        self.document = document
        self.schema = schema
    }

    private static let texts: [RuleValue.Element] = [
        "x", "1", "2000-01-01T00:00:00Z", "00000000-0000-4000-8000-000000000000", "true",
        "00000000000000000000000000000000", "AQI=",
    ].map { .text($0) }

    private static let scalars: [RuleValue.Element] = texts + [.value(.bool(true)), .value(.int(1)), .number("1.5")]

    /// Values of every type that a variable may have, the most likely first.
    func values(of variable: VariableSyntax) -> [RuleValue] {
        switch (variable.source, variable.names.first) {
        case (.role, _): return [.one(.value(.bool(true)))]
        case (.user, "id"): return Self.texts.map { .one($0) }
        case (.user, "claims"), (.client, _):
            return Self.scalars.map { .one($0) } + Self.scalars.map { .many([$0]) }
        case (.user, let name):
            let className = name.flatMap { document.set($0) }?.className ?? ""
            guard let declared = schema.classSchema(named: className) else { return [] }
            let key: ObjectKey? =
                switch declared.keyType {
                case .int: .int(1)
                case .string: .string("x")
                case .uuid: UUID(bytes: [UInt8](repeating: 0, count: 16)).map { .uuid($0) }
                default: .id(ObjectID(high: 0, low: 1))
                }
            return [.members(className: className, keys: key.map { [$0] } ?? [])]
        }
    }

    /// Calls `body` with values of all variables, until it returns true or many combinations were tried.
    ///
    /// - Returns: whether `body` returned true.
    func tryAll(_ variables: [VariableSyntax], _ body: ([VariableSyntax: RuleValue]) -> Bool) -> Bool {
        var left = 4_096
        func next(_ index: Int, _ chosen: [VariableSyntax: RuleValue]) -> Bool {
            guard index < variables.count else {
                left -= 1
                return body(chosen)
            }
            for value in values(of: variables[index]) where left > 0 {
                var chosen = chosen
                chosen[variables[index]] = value
                if next(index + 1, chosen) { return true }
            }
            return false
        }
        return next(0, [:])
    }
}
