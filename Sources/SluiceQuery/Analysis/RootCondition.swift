package import SluiceModel

/// A condition on one property of the queried object that every result of a query meets. Indexes are chosen by it.
///
/// The indexes of tables and the index of live views serve conditions that compare one property with constants of its
/// type. The evaluator judges the rest of the predicate.
package struct RootCondition: Sendable, Hashable {
    package enum Test: Sendable, Hashable {
        case equal(Value)
        /// At least two values, sorted.
        case isIn([Value])
        /// Text or data that begins with this.
        case prefix(Value)
        /// Text or data that ends with this.
        case suffix(Value)
        /// Text or data that has this as a part.
        case part(Value)
        case range(ValueRange)
    }

    /// The position of the property in the queried class.
    package let property: Int
    package let test: Test

    package init(property: Int, _ test: Test) {
        self.property = property
        self.test = test
    }

    /// A rank by how many objects of a class are likely to meet the condition: the lower, the fewer. A property that
    /// has few values, such as a bool, ranks last.
    package var breadth: Int { test.breadth }

    /// Whether an index of a table finds the objects that meet the condition.
    package var isServedByTables: Bool {
        switch test {
        case .suffix, .part: false
        case .equal, .isIn, .prefix, .range: true
        }
    }
}

extension RootCondition.Test {
    /// See ``RootCondition/breadth``.
    var breadth: Int {
        switch self {
        case .equal(.bool): 6
        case .equal: 0
        case .isIn(let values): if case .bool = values.first { 6 } else { 1 }
        case .prefix: 2
        case .suffix, .part: 3
        case .range(let range): range.isClosed ? 4 : 5
        }
    }
}

extension Query {
    /// The conditions that every result meets, the most selective first. Ranges of the same property are joined into
    /// one.
    ///
    /// - Parameter schema: the schema that the query was checked against.
    package func rootConditions(schema: Schema) -> [RootCondition] {
        guard object == nil else { return [] }
        let key = schema[classIndex].primaryKeyIndex
        let conditions = RootCondition.conditions(of: readablePredicate)
        return conditions.enumerated()
            .sorted { ($0.element.rank(key: key), $0.offset) < ($1.element.rank(key: key), $1.offset) }
            .map(\.element)
    }
}

extension RootCondition {
    /// A rank by which conditions are chosen, the lowest first.
    ///
    /// - Parameter key: the primary key of the class, which precedes other properties.
    func rank(key: Int?) -> Int { breadth * 2 + (property == key ? 0 : 1) }

    /// Conditions that an object meets for which the predicate holds, in the order of the predicate, ranges last.
    ///
    /// - Parameter scope: the scope of the object: 0 for the queried one, else that of a subquery.
    static func conditions(of predicate: Query.Predicate, scope: Int = 0) -> [RootCondition] {
        let operands: [Query.Predicate] = if case .and(let operands) = predicate { operands } else { [predicate] }
        var conditions: [RootCondition] = []
        var ranges: [Int: ValueRange] = [:]
        for case .or(let alternatives) in operands {
            conditions += RootCondition.conditions(ofAlternatives: alternatives, scope: scope)
        }
        for case .comparison(let comparison) in operands {
            guard let condition = RootCondition(comparison, scope: scope) else { continue }
            if case .range(let range) = condition.test {
                ranges[condition.property] = ranges[condition.property]?.intersection(range) ?? range
            } else {
                conditions.append(condition)
            }
        }
        return conditions + ranges.sorted { $0.key < $1.key }.map { RootCondition(property: $0.key, .range($0.value)) }
    }
}

extension RootCondition {
    /// For each property that all alternatives fix, the values that it may have.
    static func conditions(ofAlternatives alternatives: [Query.Predicate], scope: Int = 0) -> [RootCondition] {
        let (memberships, others) = TupleMembership.split(alternatives, isConjunction: false)
        guard others.isEmpty, memberships.count == 1, let membership = memberships.first else { return [] }
        var conditions: [RootCondition] = []
        for (position, path) in membership.paths.enumerated() {
            guard path.scope == scope, let property = path.plainProperty,
                case .set(let values) = Value.set(of: membership.tuples.map { $0[position] }),
                values.allSatisfy({ path.type.isType(of: $0) })
            else { continue }
            conditions.append(
                RootCondition(property: property, values.count == 1 ? .equal(values[0]) : .isIn(values)))
        }
        return conditions
    }

    /// Nil unless the comparison is of one single property of the object itself with constants of the property's type.
    init?(_ comparison: Query.Comparison, scope: Int = 0) {
        guard case .path(let path) = comparison.left, path.scope == scope, path.steps.isEmpty else { return nil }
        self.init(comparison, of: path)
    }

    /// The condition of a comparison on the object at the end of its path.
    init?(_ comparison: Query.Comparison, of path: Query.Path) {
        guard !comparison.ignoresCase else { return nil }
        let property: Int
        switch path.leaf {
        case .value(let position), .link(let position): property = position
        default: return nil
        }
        switch (comparison.comparison, comparison.right) {
        case (.isIn, .list(let values)) where !values.isEmpty && values.allSatisfy { path.type.isType(of: $0) }:
            self.init(property: property, values.count == 1 ? .equal(values[0]) : .isIn(values))
        case (.equal, .constant(.null)):
            // A link to an object that is not here is null too, which an index of the link does not show.
            guard case .scalar = path.type else { return nil }
            self.init(property: property, .equal(.null))
        case (let comparison, .constant(let value)):
            guard path.type.isType(of: value), let test = Test(comparison, value) else { return nil }
            self.init(property: property, test)
        default: return nil
        }
    }
}

extension RootCondition.Test {
    init?(_ comparison: ComparisonOperator, _ value: Value) {
        switch comparison {
        case .equal: self = .equal(value)
        case .less: self = .range(ValueRange(to: .init(value, isIncluded: false)))
        case .lessOrEqual: self = .range(ValueRange(to: .init(value, isIncluded: true)))
        case .greater: self = .range(ValueRange(from: .init(value, isIncluded: false)))
        case .greaterOrEqual: self = .range(ValueRange(from: .init(value, isIncluded: true)))
        case .beginsWith: self = .prefix(value)
        case .endsWith where value.byteCount ?? 0 > 0: self = .suffix(value)
        case .contains where value.byteCount ?? 0 > 0: self = .part(value)
        case .like:
            guard case .string(let pattern) = value, let part = Self.longestPart(of: pattern) else { return nil }
            self = .part(.string(part))
        default: return nil
        }
    }

    /// The longest text that everything that fits a pattern has as a part; nil if there is none.
    private static func longestPart(of pattern: String) -> String? {
        let wildcards: [UInt8] = [UInt8(ascii: "*"), UInt8(ascii: "?")]
        return pattern.utf8.split(whereSeparator: { wildcards.contains($0) }).max { $0.count < $1.count }
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

extension Query.Path.ValueType {
    /// Whether a value that is not null has exactly this type.
    func isType(of value: Value) -> Bool {
        switch (self, value) {
        case (.link, .link), (.scalar(.bool), .bool), (.scalar(.int), .int), (.scalar(.float), .float),
            (.scalar(.double), .double), (.scalar(.string), .string), (.scalar(.data), .data), (.scalar(.date), .date),
            (.scalar(.uuid), .uuid), (.scalar(.objectID), .objectID), (.scalar(.decimal), .decimal):
            true
        default: false
        }
    }
}

extension RootCondition {
    /// The condition in the query language.
    ///
    /// - Parameter declared: the queried class.
    package func text(in declared: ClassSchema) -> String {
        test.text(of: CanonicalText.name(declared.properties[property].name))
    }
}

extension RootCondition.Test {
    /// The condition in the query language.
    ///
    /// - Parameter name: what has the value.
    func text(of name: String, ignoringCase: Bool = false) -> String {
        let mark = ignoringCase ? "[c]" : ""
        switch self {
        case .equal(let value): return "\(name) ==\(mark) \(CanonicalText.literal(value))"
        case .isIn(let values):
            return "\(name) IN\(mark) {\(values.map(CanonicalText.literal).joined(separator: ", "))}"
        case .prefix(let value): return "\(name) BEGINSWITH\(mark) \(CanonicalText.literal(value))"
        case .suffix(let value): return "\(name) ENDSWITH\(mark) \(CanonicalText.literal(value))"
        case .part(let value): return "\(name) CONTAINS\(mark) \(CanonicalText.literal(value))"
        case .range(let range):
            let ends = [
                range.lower.map { "\(name) \($0.isIncluded ? ">=" : ">") \(CanonicalText.literal($0.value))" },
                range.upper.map { "\(name) \($0.isIncluded ? "<=" : "<") \(CanonicalText.literal($0.value))" },
            ]
            return ends.compactMap { $0 }.joined(separator: " AND ")
        }
    }
}
