package import SluiceModel

/// A checked query in canonical form: a form and its constants. It is immutable, and queries with the same canonical
/// text and the same context are equal.
package struct Query: Sendable {
    package let form: QueryForm
    /// The first 128 bits of SHA-256 over ``canonicalText`` in UTF-8.
    package let hash: ObjectID
    /// What the query's reader may read. It is not part of the canonical text.
    package let context: ReadContext
    // The last, since what holds a query has room for small fields behind its 18 bytes.
    private let held: HeldConstants

    init(form: QueryForm, constants: [Value], hash: ObjectID, context: ReadContext = .everything) {
        self.init(form: form, held: HeldConstants(constants), hash: hash, context: context)
    }

    private init(form: QueryForm, held: HeldConstants, hash: ObjectID, context: ReadContext) {
        self.form = form
        self.held = held
        self.hash = hash
        self.context = context
    }

    /// The constants in the form's places, in order: a list for a place that takes a list.
    package var constants: [Value] {
        switch held {
        case .none: []
        case .one(let value): [value]
        case .integers(let first, let second): [.int(first), .int(second)]
        case .doubles(let first, let second): [.double(first), .double(second)]
        case .dates(let first, let second): [.date(first), .date(second)]
        case .many(let values): values
        }
    }

    /// The query and what its reader may read: queries with the same key have the same results.
    package struct Key: Hashable, Sendable {
        /// See ``Query/hash``.
        package let hash: ObjectID
        /// See ``ReadContext/id``.
        package let context: ObjectID
    }

    package var key: Key { Key(hash: hash, context: context.id) }

    /// Equal for queries that differ in nothing but how many of the first results they ask for; nil where that is not all
    /// that their limit says. Made anew with each call.
    package var growingKey: Key? {
        form.textWithoutLimit(with: constants).map {
            Key(hash: SHA256.truncatedID(of: Array($0.utf8)), context: context.id)
        }
    }

    /// Equal for queries with the same matches: of one condition and one context, whatever follows the condition. Made
    /// anew with each call.
    package var countingKey: Key {
        let text = className + " WHERE " + CanonicalText.predicate(predicate)
        return Key(hash: SHA256.truncatedID(of: Array(text.utf8)), context: context.id)
    }

    /// The same query for a reader who may read only what a context allows.
    ///
    /// - Parameter context: checked against the query's schema.
    package func read(in context: ReadContext) -> Query {
        Query(form: form, held: held, hash: hash, context: context)
    }

    /// The same query with an equal form, which many queries can share.
    package func sharing(_ form: QueryForm) -> Query {
        precondition(form.key == self.form.key, "the forms differ")
        return Query(form: form, held: held, hash: hash, context: context)
    }

    /// The query in its own grammar; parsing it gives the same text again. Made anew with each call.
    package var canonicalText: String { form.text(with: constants) }

    /// The condition. Made anew with each call unless there are no constants.
    package var predicate: Predicate { form.predicate(with: constants) }

    /// What every result meets: the condition, and what the context demands of the queried class.
    package var readablePredicate: Predicate {
        guard let rule = context.condition(ofClass: classIndex)?.predicate else { return predicate }
        func operands(_ predicate: Predicate) -> [Predicate] {
            if case .and(let operands) = predicate { operands } else { [predicate] }
        }
        return .and(operands(predicate) + operands(rule))
    }

    /// The object of `OBJECT(id)`; nil for a query over a class.
    package var object: ObjectID? {
        guard form.isOfObject, case .one(.objectID(let id)) = held else { return nil }
        return id
    }

    /// Whether the predicate follows links backwards.
    package var readsBacklinks: Bool { dependencies.readsBacklinks }

    /// Whether there may be matches that are not results.
    package var isPartial: Bool { form.isPartial }
}

/// The constants of a query. Most have one, or the two ends of a range, for which no memory is allocated.
private enum HeldConstants: Sendable {
    case none
    case one(Value)
    case integers(Int64, Int64)
    case doubles(Double, Double)
    case dates(Timestamp, Timestamp)
    case many([Value])

    init(_ constants: [Value]) {
        switch constants.count {
        case 0: self = .none
        case 1: self = .one(constants[0])
        case 2: self = HeldConstants(constants[0], constants[1]) ?? .many(constants)
        default: self = .many(constants)
        }
    }

    private init?(_ first: Value, _ second: Value) {
        switch (first, second) {
        case (.int(let first), .int(let second)): self = .integers(first, second)
        case (.double(let first), .double(let second)): self = .doubles(first, second)
        case (.date(let first), .date(let second)): self = .dates(first, second)
        default: return nil
        }
    }
}

/// What the form says of each of its queries; see ``QueryForm``.
extension Query {
    package var className: String { form.className }
    package var classIndex: Int { form.classIndex }
    package var sort: [SortTerm] { form.sort }
    package var limit: Int? { form.limit }
    package var section: Section { form.section }
    package var hasSection: Bool { form.hasSection }
    package var stages: [Stage] { form.stages }
    package var positionPaths: [Path] { form.positionPaths }
    package var exclusions: ExclusionTree { form.exclusions }
    package var hasTotal: Bool { form.hasTotal }
    package var countsMatches: Bool { form.countsMatches }
    package var aggregates: Aggregates? { form.aggregates }
    package var hasFigures: Bool { form.hasFigures }
    package var predicateDependencies: QueryDependencies { form.predicateDependencies }
    package var sortDependencies: QueryDependencies { form.sortDependencies }
    package var dependencies: QueryDependencies { form.dependencies }
}

extension Query: Hashable {
    package static func == (left: Query, right: Query) -> Bool {
        left.key == right.key && (left.form === right.form || left.form.key == right.form.key)
            && left.constants == right.constants
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension Query: CustomStringConvertible {
    package var description: String { canonicalText }
}

extension Query {
    /// Whether this is a condition on the objects of a class, without clauses.
    var isCondition: Bool {
        object == nil && !isPartial && sort.isEmpty && !hasSection && exclusions.isEmpty && !hasTotal
    }

    /// Whether it finds objects and shows none of them, as with `LIMIT(0)`.
    package var showsNothing: Bool { limit == 0 && stages.isEmpty && aggregates == nil && object == nil }

    /// Whether no object can meet the condition.
    package var isOfNothing: Bool { if case .constant(false) = predicate { true } else { false } }

    /// Whether every object of the class meets the condition.
    package var isOfWholeClass: Bool { form.isOfWholeClass && isCondition }
}

/// One key of a sort.
package struct SortTerm: Hashable, Sendable {
    /// A path with a single value: every link on the way is to-one.
    package let path: Query.Path
    package let isAscending: Bool
}
