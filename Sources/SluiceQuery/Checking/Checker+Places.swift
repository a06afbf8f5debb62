internal import FoundationEssentials
internal import SluiceModel

/// Places in the order of a query.
extension Checker {
    /// Checks a place, and adds it to the clauses so far.
    func add(
        _ side: QuerySyntax.PlaceSide, _ literals: [LiteralSyntax], at position: Int?, to chain: inout ClauseChain
    ) throws(QueryError) {
        guard let keys = chain.placedKeys else {
            throw QueryError(
                .unsupported,
                "\(side.rawValue) stands before LIMIT and DISTINCT: it says where what they choose from begins "
                    + "or ends", at: position)
        }
        let isKnown =
            switch side {
            case .after: chain.section.after != nil
            case .before: chain.section.before != nil
            }
        guard !isKnown else {
            throw QueryError(.syntax, "a query has one \(side.rawValue); remove one of them", at: position)
        }
        guard literals.count == keys.count + 1 else {
            let order =
                keys.isEmpty
                ? "" : " a value for each key of SORT (\(keys.map(\.path.text).joined(separator: ", "))), then"
            throw QueryError(
                .typeMismatch,
                "\(side.rawValue) takes\(order) the key of an object: \(keys.count + 1) in all; found \(literals.count)",
                at: position)
        }
        var values: [Value] = []
        for (key, literal) in zip(keys, literals) { values.append(try placed(literal, by: key.path, side)) }
        let classIndex = scopes[0].classIndex
        chain.place(
            side,
            Query.Place(
                values: values, key: try placedKey(literals[keys.count], side), className: schema[classIndex].name))
    }

    /// The value that an object at the place has of a path.
    private func placed(
        _ literal: LiteralSyntax, by path: Query.Path, _ side: QuerySyntax.PlaceSide
    ) throws(QueryError) -> Value {
        let operand = OperandSide(
            operand: .path(path), type: path.type, quantifier: nil, name: path.text, position: literal.position)
        func mismatch(_ what: String) -> QueryError {
            QueryError(
                .typeMismatch, "\(side.rawValue) takes what an object has, and '\(path.text)' of no object \(what)",
                at: literal.position)
        }
        if case .scalar(let type) = path.type, !Self.mayBe(literal, type) {
            throw QueryError(
                .typeMismatch,
                "\(side.rawValue) takes \(type.rawValue) as the value of '\(path.text)'; found \(literal.typeName)"
                    + Self.hint(for: literal, as: type), at: literal.position)
        }
        switch try constant(literal, for: operand) {
        case .exact(.null):
            guard operand.canBeNull else { throw mismatch("is null") }
            return .null
        case .exact(let value): return value
        case .notANumber:
            switch path.type {
            case .scalar(.float): return .float(.nan)
            case .scalar(.double): return .double(.nan)
            case .scalar(.decimal): return .decimal(.nan)
            case .scalar, .link: throw mismatch("is NaN")
            }
        case .between: throw mismatch("is between two values of \(path.typeName)")
        case .belowAll, .aboveAll: throw mismatch("is beyond the range of \(path.typeName)")
        }
    }

    /// Whether a literal may be a value of a type. What is written as text takes the type, and says itself if it cannot.
    private static func mayBe(_ literal: LiteralSyntax, _ type: ScalarType) -> Bool {
        switch literal.kind {
        case .value(.null), .untyped, .variable, .now, .member: true
        case .value, .number, .instant, .object:
            switch type {
            case .int, .float, .double, .decimal: number(literal) != nil
            case .date: if case .instant = literal.kind { true } else { literal.scalarType == .date }
            default: literal.scalarType == type
            }
        }
    }

    private func placedKey(
        _ literal: LiteralSyntax, _ side: QuerySyntax.PlaceSide
    ) throws(QueryError) -> ObjectKey {
        let declared = schema[scopes[0].classIndex]
        var key: ObjectKey?
        if let name = declared.primaryKey {
            let value = try placed(literal, by: path(PathSyntax([.init(.property(name))])), side)
            key = ObjectKey(primaryKey: value)
        } else {
            var kind = literal.kind
            if case .untyped(let text) = kind, let typed = UntypedText(text).literal(of: .objectID) { kind = typed }
            if case .value(.objectID(let id)) = kind { key = .id(id) }
        }
        guard let key, declared.accepts(key) else {
            let expected =
                declared.primaryKey.map { "the primary key '\($0)', \(declared.keyType.rawValue)" } ?? "oid(…)"
            throw QueryError(
                .typeMismatch, "\(side.rawValue) ends with \(expected); found \(literal.typeName)", at: literal.position
            )
        }
        return key
    }
}

extension LiteralSyntax {
    /// The type of the constant; nil where it is none of a scalar's.
    fileprivate var scalarType: ScalarType? { if case .value(let value) = kind { value.scalarType } else { nil } }
}
