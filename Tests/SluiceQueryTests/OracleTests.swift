import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluiceQuery

/// Compares evaluator, SQL and a naive reading of the syntax over generated schemas, objects and queries.
@Suite(.ownThread) struct OracleTests {
    @Test(
        "Evaluator, SQL and a naive reading agree on every generated query", arguments: seeds(6))
    func agreement(seed: UInt64) throws {
        var generator = WorldGenerator(seed: seed)
        let schema = try generator.schema()
        let world = try generator.world(schema)
        var conditions = ConditionGenerator(after: generator)
        var compared = 0
        var matched = 0
        var constructs: Set<String> = []
        for number in 0..<500 {
            let classIndex = number % schema.classes.count
            let syntax = QuerySyntax(
                .objects(className: schema[classIndex].name), where: conditions.predicate(schema, classIndex),
                clauses: number % 2 == 0 ? [] : conditions.clauses(schema, classIndex))
            guard let query = try? Query(syntax, schema: schema) else { continue }
            compared += 1
            matched += try world.evaluate(query).isEmpty ? 0 : 1
            for construct in Self.constructs where query.canonicalText.contains(construct) {
                constructs.insert(construct)
            }
            let example = QueryCase(seed: seed, schema: schema, syntax: syntax, world: world)
            if let difference = example.difference() {
                let smallest = example.shrunk()
                Issue.record(
                    "\(difference); shrunk: \(smallest.difference() ?? ""): \(smallest); \(smallest.syntax.predicate)")
                return
            }
            try checkNegation(of: query, syntax, world, schema, "seed \(seed), query \(number): \(query)")
        }
        #expect(compared > 100, "seed \(seed): only \(compared) queries were accepted")
        #expect(matched > 30, "seed \(seed): only \(matched) queries had results")
        #expect(constructs.count > 10, "seed \(seed): only \(constructs)")
        #expect(constructs.isSuperset(of: Self.demanded), "seed \(seed): only \(constructs)")
    }

    @Test(
        "Evaluator, SQL and a naive reading agree on what a reader sees who may not read everything",
        arguments: seeds(6))
    func agreementInContext(seed: UInt64) throws {
        var generator = WorldGenerator(seed: seed)
        let schema = try generator.schema()
        let world = try generator.world(schema)
        var conditions = ConditionGenerator(after: generator)
        var compared = 0
        var hidden = 0
        for number in 0..<300 {
            let classIndex = number % schema.classes.count
            let syntax = QuerySyntax(
                .objects(className: schema[classIndex].name), where: conditions.predicate(schema, classIndex),
                clauses: number % 2 == 0 ? [] : conditions.clauses(schema, classIndex))
            var rules: [QuerySyntax] = []
            for ruled in schema.classes.indices where (ruled + number) % 3 != 0 {
                let rule = QuerySyntax(
                    .objects(className: schema[ruled].name), where: conditions.predicate(schema, ruled, depth: 2))
                // What may be read does not depend on the time.
                if let query = try? Query(rule, schema: schema), !query.readsTime { rules.append(rule) }
            }
            guard !rules.isEmpty, let query = try? Query(syntax, schema: schema) else { continue }
            compared += 1
            let context = try ReadContext(
                rules.map { try Query($0, schema: schema).canonicalText }, schema: schema)
            hidden += try world.evaluate(query) == world.evaluate(query.read(in: context)) ? 0 : 1
            let example = QueryCase(
                seed: seed, schema: schema, syntax: syntax, world: world, rules: rules, hidesIdentity: number % 3 != 0)
            if let difference = example.difference() {
                let smallest = example.shrunk()
                Issue.record("\(difference); shrunk: \(smallest.difference() ?? ""): \(smallest)")
                return
            }
        }
        #expect(compared > 60, "seed \(seed): only \(compared) queries were accepted")
        #expect(hidden > 10, "seed \(seed): only \(hidden) queries had other results")
    }

    /// What a reader may not read has no influence on what the reader finds: a query that reads it is refused, and any
    /// other finds the same whatever it holds, in the evaluator and in SQL.
    @Test(arguments: seeds(6))
    func whatIsHiddenOfObjectsHasNoInfluenceOnAnyQueryThatIsNotRefused(seed: UInt64) throws {
        var generator = WorldGenerator(seed: seed)
        let schema = try generator.schema()
        let world = try generator.world(schema)
        let hidden = generator.hiddenProperties(schema)
        let other = try generator.changing(hidden, of: world)
        var conditions = ConditionGenerator(after: generator)
        let context = ReadContext(
            rules: try schema.classes.map { try Query(QuerySyntax(.objects(className: $0.name)), schema: schema) },
            veils: hidden.mapValues { ReadVeil(properties: $0) }, denying: ReadDenial(schema))
        var (taken, refused, wouldTell) = (0, 0, 0)
        for number in 0..<400 {
            let classIndex = number % schema.classes.count
            let syntax = QuerySyntax(
                .objects(className: schema[classIndex].name), where: conditions.predicate(schema, classIndex, depth: 2),
                clauses: number % 2 == 0 ? [] : conditions.clauses(schema, classIndex))
            guard let query = try? Query(syntax, schema: schema) else { continue }
            do { try query.checkIsReadable(in: context) } catch {
                refused += 1
                wouldTell += try world.evaluate(query) == other.evaluate(query) ? 0 : 1
                continue
            }
            taken += 1
            let read = query.read(in: context)
            let expected = NaiveInterpreter(world).results(syntax, ofClass: classIndex)
            for world in [world, other] {
                let select = SQLCompiler(schema: schema, now: world.now).select(read)
                let found = try world.keys(world.database().integers(select), ofClass: classIndex)
                let evaluated = try world.evaluate(read)
                #expect(
                    evaluated == expected && found == expected,
                    "seed \(seed): \(query): \(evaluated), SQL \(found), naively \(expected)")
            }
            // Nor on what is computed over everything that it finds.
            #expect(
                try computed(read, world, schema) == computed(read, other, schema), "seed \(seed): \(query)")
        }
        #expect(taken > 30 && refused > 20 && wouldTell > 5, "seed \(seed): \(taken), \(refused), \(wouldTell)")
    }

    /// What a query computes, and how many objects match it, whatever its limit.
    private func computed(_ query: Query, _ world: TestWorld, _ schema: Schema) throws -> [[Value]] {
        let condition = Evaluator(query.condition, schema: schema)
        let evaluator = Evaluator(query, schema: schema)
        let source = ReadableObjects(world, in: query.context)
        var matches: [Row] = []
        for object in world.rows.keys where object.classIndex == query.classIndex {
            guard let row = try source.row(object), try condition.matches(row, in: source) else { continue }
            matches.append(row)
        }
        guard let aggregates = query.aggregates else { return [[.int(Int64(matches.count))]] }
        var table = FigureTable(aggregates)
        for row in matches { try table.add(evaluator.sortValues(of: row, in: source)) }
        table.settle()
        return aggregates.shown(table.shown).map(aggregates.columns)
    }

    private static let constructs =
        [
            " + ", " - ", " * ", " / ", "@sum", "@min", "@max", "@avg", "@count", "SUBQUERY", "@links", "[0]", "LAST",
            "DISTINCT", "LIMIT", "AGGREGATE", "GROUP", "ALL ", "ANY ", " IN ", " == {",
        ] + demanded
    /// The clauses that every seed's queries have.
    private static let demanded = ["LIMIT", "AGGREGATE", "GROUP", "TOTAL", "AFTER", "BEFORE"]

    /// A query's condition and its negation divide the objects between them.
    private func checkNegation(
        of query: Query, _ syntax: QuerySyntax, _ world: TestWorld, _ schema: Schema, _ context: Comment
    ) throws {
        // A query that is within the limit of nesting may exceed it with NOT around it.
        let negated = QuerySyntax(syntax.target, where: .not(syntax.predicate))
        guard let negation = try? Query(negated, schema: schema) else { return }
        let condition = try Query(QuerySyntax(syntax.target, where: syntax.predicate), schema: schema)
        let evaluators = [condition, negation].map { Evaluator($0, schema: schema) }
        for (object, row) in world.rows where object.classIndex == query.classIndex {
            let answers = try evaluators.map { try $0.matches(row, in: world) }
            #expect(answers[0] != answers[1], "\(context), object \(row.key)")
        }
        #expect(try Query.parse(negation.canonicalText, schema: schema) == negation, context)
    }

    @Test("Cases that once differed agree", arguments: KeptCases.all)
    func keptCase(line: String) throws {
        let example = try QueryCase(kept: line)
        #expect(try Query(example.syntax, schema: example.schema).classIndex >= 0)
        #expect(example.difference() == nil)
    }
}
