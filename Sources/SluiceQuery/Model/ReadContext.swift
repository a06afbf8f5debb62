package import SluiceModel

/// What a reader may read: for some classes, a condition that objects must meet.
///
/// For the reader, the other objects of these classes are absent: they are no results, no path and no link leads to
/// them, and no count has them. A condition itself reads everything. Classes without a condition are readable whole.
package final class ReadContext: Sendable {
    /// Everything is readable.
    package static let everything = ReadContext()

    /// A condition, prepared for evaluation.
    struct Rule: Sendable {
        let query: Query
        let evaluator: Evaluator
    }

    /// The conditions by class.
    let rules: [Int: Rule]
    /// The conditions in the query language, sorted.
    private let texts: [String]
    /// Equal for equal contexts, whatever the schema has of their classes, and zero for ``everything``.
    package let id: ObjectID
    /// Equal for contexts whose conditions differ only in constants.
    package let formKey: String

    private init() {
        rules = [:]
        texts = []
        id = ObjectID(high: 0, low: 0)
        formKey = ""
    }

    /// - Parameters:
    ///   - conditions: for each class that is not readable whole, `Class WHERE predicate`: its results are what is
    ///     readable of the class. No two are of one class. A condition on a class that the schema lacks waits until
    ///     it has it; see ``rebound(to:)``.
    ///   - schema: the schema to check the conditions against.
    /// - Throws: ``QueryError`` when a condition is wrong, or has clauses.
    package init(_ conditions: [String], schema: Schema) throws(QueryError) {
        var rules: [Int: Rule] = [:]
        for text in conditions {
            let query: Query
            do { query = try .parse(text, schema: schema) } catch {
                if error.code == .unknownClass { continue }
                throw error
            }
            guard query.object == nil, !query.isPartial, query.sort.isEmpty, query.exclusions.isEmpty,
                rules[query.classIndex] == nil
            else {
                throw QueryError(
                    .syntax,
                    "what is readable of a class is one condition without clauses, such as "
                        + "'\(query.className) WHERE owner == $0'; '\(text)' is something else", at: nil)
            }
            rules[query.classIndex] = Rule(query: query, evaluator: Evaluator(query, schema: schema))
        }
        self.rules = rules
        texts = conditions.sorted()
        id =
            texts.isEmpty
            ? ObjectID(high: 0, low: 0) : SHA256.truncatedID(of: Array(texts.joined(separator: "\u{1}").utf8))
        formKey = rules.values.map(\.query.form.key).sorted().joined(separator: "\u{2}")
    }

    package var isEverything: Bool { texts.isEmpty }

    /// The classes that are not readable whole.
    package var classes: [Int] { rules.keys.sorted() }

    /// What is readable of a class; nil if all of it is.
    package func condition(ofClass classIndex: Int) -> Query? { rules[classIndex]?.query }

    /// Whether an object is readable.
    ///
    /// - Parameter source: the objects as they are, whoever reads.
    package func allows(_ row: Row, ofClass classIndex: Int, in source: any ObjectSource) throws -> Bool {
        guard let rule = rules[classIndex] else { return true }
        return try rule.evaluator.matches(row, in: source)
    }

    /// The same context, checked against another schema.
    ///
    /// - Throws: ``QueryError`` when a condition does not fit that schema.
    package func rebound(to schema: Schema) throws(QueryError) -> ReadContext {
        texts.isEmpty ? self : try ReadContext(texts, schema: schema)
    }
}

extension ReadContext: CustomStringConvertible {
    /// The conditions in the query language.
    package var description: String {
        isEverything ? "everything" : texts.joined(separator: "; ")
    }
}
