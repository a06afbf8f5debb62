package import SluiceModel
internal import Synchronization

/// What a reader may read: for some classes, a condition that objects must meet.
///
/// For the reader, the other objects of these classes are absent: they are no results, no path and no link leads to
/// them, and no count has them. A condition itself reads everything. Classes without a condition are readable whole.
package final class ReadContext: Sendable {
    /// Everything is readable.
    package static let everything = ReadContext()

    /// The conditions by class.
    private let rules: [Int: Query]
    /// What evaluation has made of the conditions, by class; see ``prepared(ofClass:_:)``.
    private let preparations = Mutex<[Int: any Sendable]>([:])
    let schema: Schema
    /// The conditions in the query language, sorted.
    private let texts: [String]
    /// Equal for equal contexts, whatever the schema has of their classes, and zero for ``everything``.
    package let id: ObjectID
    /// Equal for contexts whose conditions differ only in constants.
    package let formKey: String

    private init() {
        rules = [:]
        schema = Schema()
        texts = []
        id = ObjectID(high: 0, low: 0)
        formKey = ""
    }

    /// - Parameters:
    ///   - conditions: for each class that is not readable whole, `Class WHERE predicate`: its results are what is
    ///     readable of the class. No two are of one class. A condition on a class that the schema lacks waits until
    ///     it has it; see ``rebound(to:)``. A condition that names what the schema lacks waits too, and until then
    ///     nothing of its class is readable.
    ///   - schema: the schema to check the conditions against.
    /// - Throws: ``QueryError`` when a condition is wrong, or has clauses.
    package init(_ conditions: [String], schema: Schema) throws(QueryError) {
        var rules: [Int: Query] = [:]
        for text in conditions {
            let query: Query
            do { query = try .parse(text, schema: schema) } catch {
                guard let closed = try Self.closed(text, schema, error) else { continue }
                rules[closed.classIndex] = closed
                continue
            }
            guard query.object == nil, !query.isPartial, query.sort.isEmpty, query.exclusions.isEmpty,
                rules[query.classIndex] == nil
            else {
                throw QueryError(
                    .syntax,
                    "what is readable of a class is one condition without clauses, such as "
                        + "'\(query.className) WHERE owner == $0'; '\(text)' is something else", at: nil)
            }
            rules[query.classIndex] = query
        }
        self.rules = rules
        self.schema = schema
        texts = conditions.sorted()
        id =
            texts.isEmpty
            ? ObjectID(high: 0, low: 0) : SHA256.truncatedID(of: Array(texts.joined(separator: "\u{1}").utf8))
        formKey = rules.values.map(\.form.key).sorted().joined(separator: "\u{2}")
    }

    /// What stands for a condition that does not fit the schema: nothing is readable. A schema grows class by class and
    /// property by property, and a condition comes before what it names.
    ///
    /// - Returns: nil if the schema lacks the class itself.
    /// - Throws: the error, when no growth of the schema mends the condition.
    private static func closed(_ text: String, _ schema: Schema, _ error: QueryError) throws(QueryError) -> Query? {
        switch error.code {
        case .unknownClass, .unknownProperty, .typeMismatch: break
        default: throw error
        }
        let className = String(text.prefix { !$0.isWhitespace })
        guard schema.index(of: className) != nil else { return nil }
        return try .parse("\(className) WHERE FALSEPREDICATE", schema: schema)
    }

    private init(_ other: ReadContext, formsOf sharer: ReadContext) {
        var rules = other.rules
        for (classIndex, rule) in other.rules {
            guard let form = sharer.rules[classIndex]?.form, form.key == rule.form.key else { continue }
            rules[classIndex] = rule.sharing(form)
        }
        self.rules = rules
        schema = other.schema
        texts = other.texts
        id = other.id
        formKey = sharer.formKey
    }

    /// The same context with the forms of another whose conditions differ only in constants: each of many readers then
    /// takes little memory.
    package func sharing(_ other: ReadContext) -> ReadContext {
        self === other || isEverything || formKey != other.formKey || rules.keys != other.rules.keys
            ? self : ReadContext(self, formsOf: other)
    }

    package var isEverything: Bool { texts.isEmpty }

    /// The classes that are not readable whole.
    package var classes: [Int] { rules.keys.sorted() }

    /// What is readable of a class; nil if all of it is.
    package func condition(ofClass classIndex: Int) -> Query? { rules[classIndex] }

    /// What was made of the condition on a class, kept for the next caller.
    ///
    /// - Parameter make: called once for a class, with its condition.
    /// - Returns: nil if all of the class is readable.
    func prepared<Prepared: Sendable>(ofClass classIndex: Int, _ make: (Query) -> Prepared) -> Prepared? {
        guard let condition = rules[classIndex] else { return nil }
        return preparations.withLock { known in
            if let prepared = known[classIndex] as? Prepared { return prepared }
            let prepared = make(condition)
            known[classIndex] = prepared
            return prepared
        }
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
