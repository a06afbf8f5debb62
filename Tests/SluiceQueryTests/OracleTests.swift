import SluiceModel
import Testing

@testable import SluiceQuery

/// Evaluator and SQL against each other, over generated schemas, objects and queries.
struct OracleTests {
    @Test("Evaluator and SQL agree on every generated query", arguments: 1...12 as ClosedRange<UInt64>)
    func agreement(seed: UInt64) throws {
        var generator = WorldGenerator(seed: seed)
        let schema = try generator.schema()
        let world = try generator.world(schema)
        let database = try world.database()
        let compiler = SQLCompiler(schema: schema)
        var compared = 0
        var matched = 0
        for number in 0..<400 {
            let classIndex = number % schema.classes.count
            let syntax = QuerySyntax(
                .objects(className: schema[classIndex].name), where: generator.predicate(schema, classIndex),
                clauses: number % 2 == 0 ? [] : generator.clauses(schema, classIndex))
            guard let query = try? Query(syntax, schema: schema) else { continue }
            compared += 1
            let context: Comment = "seed \(seed), query \(number): \(query.canonicalText)"
            #expect(try Query.parse(query.canonicalText, schema: schema).canonicalText == query.canonicalText, context)
            let expected = try world.evaluate(query)
            matched += expected.isEmpty ? 0 : 1
            let statement = compiler.select(query)
            #expect(try world.keys(database.integers(statement), ofClass: classIndex) == expected, context)
            let lookup = compiler.select(query, restrictedTo: "1")
            #expect(try world.keys(database.integers(lookup), ofClass: classIndex) == expected, context)
            #expect(try database.integers(compiler.select(query, .count)) == [Int64(expected.count)], context)
            try checkNegation(of: query, syntax, world, schema, context)
        }
        #expect(compared > 100, "seed \(seed): only \(compared) queries were accepted")
        #expect(matched > 30, "seed \(seed): only \(matched) queries had results")
    }

    /// A query and its negation share the objects between them.
    private func checkNegation(
        of query: Query, _ syntax: QuerySyntax, _ world: TestWorld, _ schema: Schema, _ context: Comment
    ) throws {
        let negation = try Query(
            QuerySyntax(syntax.target, where: .not(syntax.predicate)), schema: schema)
        let evaluators = [query, negation].map { Evaluator($0, schema: schema) }
        for (object, row) in world.rows where object.classIndex == query.classIndex {
            let answers = try evaluators.map { try $0.matches(row, in: world) }
            #expect(answers[0] != answers[1], "\(context), object \(row.key)")
        }
        #expect(try Query.parse(negation.canonicalText, schema: schema) == negation, context)
    }
}
