internal import FoundationEssentials
internal import SluiceModel

/// What queries that differ only in constants have in common: all but the values that their condition compares with.
///
/// A place for a constant is the right side of a comparison, in a subquery too, if it is a constant other than null, or
/// a list. The kinds of the constants are part of the form, so all queries of a form are evaluated, compiled and found
/// in the same way. Any number of queries may share one form.
package final class QueryForm: Sendable {
    /// The queried class; empty for a query of one object by id.
    package let className: String
    /// The position of the class in the schema that the query was checked against; -1 for a query of one object by id.
    package let classIndex: Int
    /// Whether this is the form of `OBJECT(id)`; the id is the one constant.
    package let isOfObject: Bool
    /// The order of the results, without repeated keys and without keys after a unique one. Ties break by ascending
    /// object id.
    package let sort: [SortTerm]
    /// The most results, taken from the front of the order of ``sort``; nil if there is no limit, or ``stages`` has it.
    package let limit: Int?
    /// The part of the order that the results are taken from.
    package let section: Query.Section
    /// The steps that choose the results among the matches, in turn, where ``sort`` and ``limit`` cannot say which they
    /// are. Empty for most queries.
    package let stages: [Query.Stage]
    /// The paths that ``Evaluator/sortValues(of:in:)`` reads: the keys of ``sort``, then the others that the stages
    /// read.
    package let positionPaths: [Query.Path]
    package let exclusions: ExclusionTree
    /// Whether the query asks how many objects its condition finds, whatever the limit.
    package let hasTotal: Bool
    /// What the query computes; nil where it finds objects. Then ``limit`` is 0, and ``positionPaths`` are what it reads.
    package let aggregates: Query.Aggregates?
    package let predicateDependencies: QueryDependencies
    package let sortDependencies: QueryDependencies
    /// What predicate and sort read together.
    package let dependencies: QueryDependencies
    /// Where results may change as time passes; empty for a condition without `$now`.
    package let timeEdges: [TimeEdge]

    /// The condition with the constants of the query that the form was made of.
    private let predicate: Query.Predicate
    /// The canonical text around the places: one more than there are places.
    private let texts: [String]
    /// The last of ``texts`` without LIMIT; nil unless one LIMIT alone says how many results there are.
    private let endWithoutLimit: String?
    /// Equal for equal forms of one schema, and different for others.
    package let key: String

    init(className: String, classIndex: Int, predicate: Query.Predicate, clauses: CheckedClauses) {
        var texts = [className]
        if case .constant(true) = predicate {
        } else {
            texts = CanonicalText.parts(of: predicate)
            texts[0] = className + " WHERE " + texts[0]
        }
        endWithoutLimit = clauses.textWithoutLimit.map { [end = texts[texts.count - 1]] in end + $0 }
        texts[texts.count - 1] += clauses.text
        self.className = className
        self.classIndex = classIndex
        isOfObject = false
        self.predicate = predicate
        self.texts = texts
        sort = clauses.sort
        limit = clauses.limit
        section = clauses.section
        stages = clauses.stages
        positionPaths = clauses.positionPaths
        exclusions = ExclusionTree(clauses.exclusions.map(\.properties))
        hasTotal = clauses.hasTotal
        aggregates = clauses.aggregates
        var paths: [Query.Path] = []
        predicate.forEachComparison { paths += $0.paths }
        // What is in a section depends on what places it.
        predicateDependencies = QueryDependencies(
            paths: clauses.section.isWhole ? paths : paths + clauses.positionPaths)
        sortDependencies = QueryDependencies(paths: clauses.positionPaths)
        dependencies = QueryDependencies(paths: paths + clauses.positionPaths)
        timeEdges = predicate.timeEdges
        let kinds = predicate.constants.map { ConstantKind($0).name }
        key = texts.joined(separator: "\u{1}") + "\u{1}" + kinds.joined(separator: " ")
    }

    /// The form of `OBJECT(id)`.
    static let ofObject = QueryForm()

    private init() {
        className = ""
        classIndex = -1
        isOfObject = true
        predicate = .constant(true)
        sort = []
        limit = nil
        section = Query.Section()
        stages = []
        positionPaths = []
        exclusions = ExclusionTree()
        hasTotal = false
        aggregates = nil
        predicateDependencies = QueryDependencies(paths: [])
        sortDependencies = QueryDependencies(paths: [])
        dependencies = QueryDependencies(paths: [])
        texts = ["OBJECT(", ")"]
        endWithoutLimit = nil
        key = "OBJECT"
        timeEdges = []
    }

    /// The form of a query at one time, whose condition has its constants and the time in place of `$now`.
    init(_ form: QueryForm, at time: Timestamp, predicate: Query.Predicate, text: String) {
        className = form.className
        classIndex = form.classIndex
        isOfObject = form.isOfObject
        self.predicate = predicate
        sort = form.sort
        limit = form.limit
        section = form.section
        stages = form.stages
        positionPaths = form.positionPaths
        exclusions = form.exclusions
        hasTotal = form.hasTotal
        aggregates = form.aggregates
        predicateDependencies = form.predicateDependencies
        sortDependencies = form.sortDependencies
        dependencies = form.dependencies
        timeEdges = []
        texts = [text]
        endWithoutLimit = nil
        key = "\(form.key)\u{1}@\(time.microseconds)"
    }

    /// Whether there may be matches that are not results.
    package var isPartial: Bool { limit != nil || !stages.isEmpty }

    /// Whether the order decides, with the condition, which objects are matches.
    package var hasSection: Bool { !section.isWhole }

    /// Whether the query's matches have to be counted: it asks for its total, and its results need not be all of them.
    package var countsMatches: Bool { hasTotal && isPartial }

    /// Whether something is computed over all matches, and sent beside the results or instead of them.
    package var hasFigures: Bool { countsMatches || aggregates != nil }

    /// Whether the condition holds for every object of the class.
    var isOfWholeClass: Bool { if case .constant(true) = predicate { !isOfObject } else { false } }

    /// The canonical text without LIMIT; nil unless one LIMIT alone says how many results there are.
    func textWithoutLimit(with constants: [Value]) -> String? {
        guard let endWithoutLimit else { return nil }
        guard let last = constants.last else { return endWithoutLimit }
        var text = texts[0]
        for (position, constant) in constants.dropLast().enumerated() {
            text += CanonicalText.literal(constant) + texts[position + 1]
        }
        return text + CanonicalText.literal(last) + endWithoutLimit
    }

    func text(with constants: [Value]) -> String {
        if isOfObject, case .objectID(let id)? = constants.first { return texts[0] + "\(id)" + texts[1] }
        var text = texts[0]
        for (position, constant) in constants.enumerated() {
            text += CanonicalText.literal(constant)
            text += texts[position + 1]
        }
        return text
    }

    /// The canonical text for logs, without what may be private: `$1`, `$2`, … stand in the places of the constants, and
    /// `"…"` for texts elsewhere.
    package var text: String {
        let places = texts.dropFirst().enumerated()
        return CanonicalText.hidingTexts(places.reduce(into: texts[0]) { $0 += "$\($1.offset + 1)\($1.element)" })
    }

    func predicate(with constants: [Value]) -> Query.Predicate {
        isOfObject || constants.isEmpty ? predicate : predicate.replacingConstants(by: constants)
    }
}

/// What evaluation may depend on beside the value of a constant.
private struct ConstantKind {
    let name: String

    init(_ value: Value) {
        name =
            switch value {
            case .null: "null"
            case .bool: "bool"
            case .int: "int"
            case .float(let number): number.isNaN ? "nan" : "float"
            case .double(let number): number.isNaN ? "nan" : "double"
            case .string: "string"
            case .data: "data"
            case .date: "date"
            case .uuid: "uuid"
            case .objectID: "objectID"
            case .decimal(let number): number.isNaN ? "nan" : "decimal"
            case .link: "link"
            case .list(let values): "list(" + Self.names(of: values) + ")"
            case .set(let values): "set(" + Self.names(of: values) + ")"
            case .map: "map"
            }
    }

    private static func names(of values: [Value]) -> String {
        var names: [String] = []
        for value in values {
            let name = ConstantKind(value).name
            if !names.contains(name) { names.append(name) }
        }
        return names.joined(separator: ",")
    }
}

extension Query.Comparison {
    /// The constant in the form's place; nil if the right side is none.
    var placedConstant: Value? {
        switch right {
        case .constant(.null), .path, .arithmetic, .now: nil
        case .constant(let value): value
        case .list(let values): .list(values)
        }
    }

    fileprivate func appendConstants(to constants: inout [Value]) {
        left.appendConstantsInSubqueries(to: &constants)
        if let placedConstant {
            constants.append(placedConstant)
        } else {
            right.appendConstantsInSubqueries(to: &constants)
        }
    }

    fileprivate func replacingConstants(by constants: inout ArraySlice<Value>) -> Query.Comparison {
        let left = left.replacingConstantsInSubqueries(by: &constants)
        guard placedConstant != nil else {
            let right = right.replacingConstantsInSubqueries(by: &constants)
            return Query.Comparison(relation, left, comparison, right, ignoresCase: ignoresCase)
        }
        let operand: Operand =
            switch (right, constants.removeFirst()) {
            case (.list, .list(let values)): .list(values)
            case (_, let value): .constant(value)
            }
        return Query.Comparison(relation, left, comparison, operand, ignoresCase: ignoresCase)
    }
}

extension Query.Comparison.Operand {
    fileprivate func appendConstantsInSubqueries(to constants: inout [Value]) {
        switch self {
        case .path(let path):
            guard case .subquery(let subquery) = path.leaf else { return }
            subquery.predicate.forEachComparison { $0.appendConstants(to: &constants) }
        case .arithmetic(_, let left, let right, _):
            left.appendConstantsInSubqueries(to: &constants)
            right.appendConstantsInSubqueries(to: &constants)
        case .constant, .list, .now: break
        }
    }

    fileprivate func replacingConstantsInSubqueries(by constants: inout ArraySlice<Value>) -> Self {
        switch self {
        case .path(let path):
            guard case .subquery(let subquery) = path.leaf else { return self }
            let predicate = subquery.predicate.replacingConstants(by: &constants)
            return .path(
                path.of(Query.Subquery(collection: subquery.collection, predicate: predicate, scope: subquery.scope)))
        case .arithmetic(let operation, let left, let right, let type):
            let left = left.replacingConstantsInSubqueries(by: &constants)
            let right = right.replacingConstantsInSubqueries(by: &constants)
            return .arithmetic(operation, left, right, type)
        case .constant, .list, .now: return self
        }
    }
}

extension Query.Path {
    /// The path of another subquery in the same place.
    fileprivate func of(_ subquery: Query.Subquery) -> Query.Path {
        Query.Path(
            scope: scope, steps: steps, leafClass: leafClass, leaf: .subquery(subquery), type: type,
            canBeNull: canBeNull, text: CanonicalText.subquery(subquery))
    }
}

extension Query.Predicate {
    /// The constants in the form's places, in the order of the canonical text.
    var constants: [Value] {
        var constants: [Value] = []
        forEachComparison { $0.appendConstants(to: &constants) }
        return constants
    }

    /// The same condition with other constants in the form's places.
    func replacingConstants(by constants: [Value]) -> Query.Predicate {
        var rest = constants[...]
        return replacingConstants(by: &rest)
    }

    /// - Parameter constants: loses those that are put in places.
    fileprivate func replacingConstants(by constants: inout ArraySlice<Value>) -> Query.Predicate {
        switch self {
        case .constant: self
        case .comparison(let comparison): .comparison(comparison.replacingConstants(by: &constants))
        case .not(let comparison): .not(comparison.replacingConstants(by: &constants))
        case .and(let operands): .and(operands.map { $0.replacingConstants(by: &constants) })
        case .or(let operands): .or(operands.map { $0.replacingConstants(by: &constants) })
        }
    }
}
