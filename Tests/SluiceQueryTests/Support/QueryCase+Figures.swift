import SluiceModel

@testable import SluiceQuery

extension QueryCase {
    /// How the figures of a query differ between the evaluator, SQL and a naive reading; nil if they agree.
    func figureDifference(_ query: Query) throws -> String? {
        guard let aggregates = query.aggregates else { return nil }
        let types = aggregates.functions.map { function -> ScalarType? in
            if case .value(_, _, let type) = function { type } else { nil }
        }
        let naive = NaiveInterpreter(readable()).figures(syntax, ofClass: query.classIndex, types)
        let evaluator = Evaluator(query, schema: schema)
        let source = ReadableObjects(world, in: query.context)
        var (matches, others): ([[Value]], [[Value]]) = ([], [])
        for object in world.rows.keys.sorted() where object.classIndex == query.classIndex {
            guard let row = try source.row(object) else { continue }
            let values = try evaluator.sortValues(of: row, in: source)
            if try evaluator.matches(row, in: source) { matches.append(values) } else { others.append(values) }
        }
        func columns(_ table: FigureTable) -> [[Value]] { aggregates.shown(table.shown).map(aggregates.columns) }
        var table = FigureTable(aggregates)
        for values in matches { try table.add(values) }
        table.settle()
        guard columns(table) == naive else { return "the evaluator computes \(columns(table)), naively \(naive)" }

        var stored = FigureTable(aggregates)
        for values in try world.positions(of: query) { try stored.add(values) }
        stored.settle()
        guard columns(stored) == naive else { return "SQL computes \(columns(stored)), naively \(naive)" }

        // What comes and goes leaves nothing.
        var moving = FigureTable(aggregates)
        for values in matches + others { try moving.add(values) }
        moving.beginChange()
        for values in others { moving.remove(values) }
        for keys in moving.unknownExtremes {
            let functions = moving.resetExtremes(of: keys)
            for values in matches where Array(values.prefix(keys.count)) == keys {
                moving.readExtremes(functions, of: keys, values)
            }
        }
        _ = moving.endChange()
        guard columns(moving) == naive else { return "what came and went leaves \(columns(moving)), naively \(naive)" }

        // What is sent is enough to go on with.
        guard aggregates.groups(aggregates.values(of: table.shown)) != nil else {
            return "what is shown is not accepted"
        }
        let received = FigureTable(aggregates, knowing: table.shown)
        guard aggregates.shown(received.shown) == aggregates.shown(table.shown) else {
            return "what was received is \(received.shown) instead of \(table.shown)"
        }
        guard aggregates.limit == nil else { return nil }
        var changed = received
        for values in others { try changed.add(values) }
        for values in others { changed.remove(values) }
        for group in table.shown where changed.isExact(group.keys) {
            guard
                changed.shown.first(where: { $0.keys == group.keys }).map(aggregates.columns)
                    == aggregates.columns(of: group)
            else { return "a client that adds and takes away has \(changed.shown) instead of \(group)" }
        }
        return nil
    }
}
