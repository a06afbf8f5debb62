import SluiceModel
import SluiceStorage

@testable import SluiceQuery

/// A query over some of the objects of a generated world. The three implementations are compared on it, and it is
/// shrunk as long as they differ.
struct QueryCase: CustomStringConvertible {
    let seed: UInt64
    let schema: Schema
    var syntax: QuerySyntax
    var world: TestWorld
    /// What the reader may read of some classes.
    var rules: [QuerySyntax] = []
    /// Whether the rules hide who the objects are that may not be read; then everything of the other classes is readable.
    var hidesIdentity = false

    /// The text of a kept case: the seed of the world, the query, and the objects that remain in the world.
    var description: String {
        let text = (try? Query(syntax, schema: schema).canonicalText) ?? "\(syntax.predicate)"
        let objects = world.rows.keys.sorted().map { "\(schema[$0.classIndex].name):\($0.key)" }
        let conditions = rules.map { (try? Query($0, schema: schema).canonicalText) ?? "\($0.predicate)" }
        return ["\(seed)", text, objects.joined(separator: " "), conditions.joined(separator: " ; ")]
            .filter { !$0.isEmpty }.joined(separator: " | ")
    }

    init(
        seed: UInt64, schema: Schema, syntax: QuerySyntax, world: TestWorld, rules: [QuerySyntax] = [],
        hidesIdentity: Bool = false
    ) {
        self.rules = rules
        self.hidesIdentity = hidesIdentity
        self.seed = seed
        self.schema = schema
        self.syntax = syntax
        self.world = world
    }

    /// Parses a kept case.
    init(kept line: String) throws {
        let parts = line.split(separator: "|").map { String($0.trimmingPrefix(" ")) }
        seed = UInt64(parts[0].split(separator: " ").joined()) ?? 0
        var generator = WorldGenerator(seed: seed)
        schema = try generator.schema()
        world = try generator.world(schema)
        syntax = try QuerySyntax.parse(parts[1])
        let kept = Set(parts[2].split(separator: " ").map(String.init))
        for object in world.rows.keys where !kept.contains("\(schema[object.classIndex].name):\(object.key)") {
            world = world.without(object)
        }
    }

    /// How the results differ; nil if all agree, or if the query is rejected.
    func difference() -> String? {
        guard let plain = try? Query(syntax, schema: schema),
            let conditions = try? rules.map({ try Query($0, schema: schema) }),
            // What may be read does not depend on the time.
            !conditions.contains(where: \.readsTime)
        else { return nil }
        do {
            let query = plain.read(
                in: hidesIdentity ? try context() : try ReadContext(conditions.map(\.canonicalText), schema: schema))
            let naive = NaiveInterpreter(readable()).results(syntax, ofClass: query.classIndex)
            let evaluated = try world.evaluate(query)
            guard evaluated == naive else { return "the evaluator finds \(evaluated), naively \(naive)" }
            let database = try world.database()
            let compiler = SQLCompiler(schema: schema, now: world.now)
            let plain = try world.keys(database.integers(compiler.select(query)), ofClass: query.classIndex)
            guard plain == naive else { return "SQL finds \(plain), naively \(naive)" }
            let lookups = try world.keys(
                database.integers(compiler.select(query, restrictedTo: "1")), ofClass: query.classIndex)
            guard lookups == naive else { return "SQL with lookups finds \(lookups), naively \(naive)" }
            let count = try database.integers(compiler.select(query, .count))
            guard count == [Int64(naive.count)] else { return "SQL counts \(count), naively \(naive.count)" }
            if query.hasTotal {
                let all = QuerySyntax(syntax.target, where: syntax.predicate)
                let total = NaiveInterpreter(readable()).results(all, ofClass: query.classIndex).count
                let counted = try database.integers(compiler.select(query.condition, .count, order: .any))
                guard counted == [Int64(total)] else { return "SQL counts \(counted) in all, naively \(total)" }
            }
            if let difference = try figureDifference(query) { return difference }
            if let difference = try pageDifference(query, evaluated) { return difference }
            guard try Query.parse(query.canonicalText, schema: schema).canonicalText == query.canonicalText else {
                return "the canonical text is no fixed point"
            }
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// How pages that SQL reads in the order of a query differ from its results; nil if they do not.
    private func pageDifference(_ query: Query, _ results: [ObjectKey]) throws -> String? {
        guard query.stages.isEmpty, query.aggregates == nil, query.object == nil else { return nil }
        return try world.pageDifference(query, results, at: [0, results.count / 2])
    }

    /// The world without the objects that the reader may not read, found naively.
    func readable() -> TestWorld {
        var readable = world
        for rule in rules {
            guard case .objects(let className, _) = rule.target, let classIndex = schema.index(of: className) else {
                continue
            }
            let allowed = Set(NaiveInterpreter(world).results(rule, ofClass: classIndex))
            for object in world.rows.keys where object.classIndex == classIndex && !allowed.contains(object.key) {
                readable = readable.without(object)
            }
        }
        return hidesIdentity ? readable.withoutDanglingLinks(to: ruledClasses) : readable
    }

    /// The classes that are not readable whole.
    private var ruledClasses: Set<Int> {
        Set(
            rules.compactMap { rule in
                (try? Query(rule, schema: schema)).flatMap { $0.isOfWholeClass ? nil : $0.classIndex }
            })
    }

    /// The context of rules that hide who the objects are that may not be read.
    private func context() throws -> ReadContext {
        var conditions: [Int: Query] = [:]
        for (index, declared) in schema.classes.enumerated() {
            conditions[index] = try Query(QuerySyntax(.objects(className: declared.name)), schema: schema)
        }
        for rule in rules {
            let query = try Query(rule, schema: schema)
            conditions[query.classIndex] = query
        }
        return ReadContext(
            rules: Array(conditions.values), veils: conditions.mapValues { _ in ReadVeil(hidesIdentity: true) },
            denying: ReadDenial(schema))
    }

    /// A smaller case with the same difference: fewer objects and a shorter condition.
    func shrunk() -> QueryCase {
        var smallest = self
        var isShrinking = true
        while isShrinking {
            isShrinking = false
            for candidate in smallest.smaller() where candidate.difference() != nil {
                smallest = candidate
                isShrinking = true
                break
            }
        }
        return smallest
    }

    private func smaller() -> [QueryCase] {
        var result: [QueryCase] = []
        for predicate in syntax.predicate.smaller() {
            var candidate = self
            candidate.syntax.predicate = predicate
            result.append(candidate)
        }
        for index in syntax.clauses.indices {
            var candidate = self
            candidate.syntax.clauses.remove(at: index)
            result.append(candidate)
        }
        for index in rules.indices {
            var candidate = self
            candidate.rules.remove(at: index)
            result.append(candidate)
            for predicate in rules[index].predicate.smaller() {
                candidate = self
                candidate.rules[index].predicate = predicate
                result.append(candidate)
            }
        }
        for object in world.rows.keys.sorted() {
            var candidate = self
            candidate.world = world.without(object)
            result.append(candidate)
        }
        return result
    }
}

extension PredicateSyntax {
    /// The condition with parts left out.
    fileprivate func smaller() -> [PredicateSyntax] {
        switch self {
        case .constant: return []
        case .not(let operand): return [operand] + operand.smaller().map { .not($0) }
        case .and(let operands): return Self.smaller(operands) { .and($0) }
        case .or(let operands): return Self.smaller(operands) { .or($0) }
        case .comparison(let comparison):
            return comparison.left.smaller().map { left in
                var shorter = comparison
                shorter.left = left
                return .comparison(shorter)
            }
                + comparison.right.smaller().map { right in
                    var shorter = comparison
                    shorter.right = right
                    return .comparison(shorter)
                }
        }
    }

    private static func smaller(
        _ operands: [PredicateSyntax], _ make: ([PredicateSyntax]) -> PredicateSyntax
    ) -> [PredicateSyntax] {
        operands
            + operands.indices.flatMap { index in
                operands[index].smaller().map { smaller in
                    var changed = operands
                    changed[index] = smaller
                    return make(changed)
                }
            }
    }
}

extension ExpressionSyntax {
    fileprivate func smaller() -> [ExpressionSyntax] {
        switch self {
        case .path, .literal: return []
        case .list(let literals, let quantifier, _):
            return literals.indices.map { index in
                var shorter = literals
                shorter.remove(at: index)
                return .list(shorter, quantifier: quantifier)
            }
        case .arithmetic(let arithmetic):
            return [arithmetic.left, arithmetic.right]
                + arithmetic.left.smaller().map {
                    .arithmetic(ArithmeticSyntax($0, arithmetic.operation, arithmetic.right))
                }
                + arithmetic.right.smaller().map {
                    .arithmetic(ArithmeticSyntax(arithmetic.left, arithmetic.operation, $0))
                }
        case .subquery(let subquery):
            return ([.constant(true)] + subquery.predicate.smaller()).compactMap { predicate in
                if case .constant = predicate, case .constant = subquery.predicate { return nil }
                return .subquery(SubquerySyntax(subquery.collection, subquery.variable, predicate))
            }
        }
    }
}
