internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

extension ObjectTables {
    /// See ``QueryPlanning/plan(of:order:)``.
    func plan(of query: Query, order: SQLCompiler.Order) throws -> QueryExplanation.Plan? {
        guard query.object == nil, !query.showsNothing else { return nil }
        guard query.aggregates == nil else {
            return try plan(of: SQLCompiler(schema: schema, now: now).select(query, .positions, order: .any))
        }
        let columns = try table(query.classIndex).rowColumns(alias: SQLCompiler.rootAlias)
        return try plan(of: SQLCompiler(schema: schema, now: now).select(query, .columns(columns), order: order))
    }

    /// See ``QueryPlanning/totalPlan(of:)``.
    func totalPlan(of query: Query) throws -> QueryExplanation.Plan? {
        guard query.hasTotal else { return nil }
        return try plan(of: SQLCompiler(schema: schema, now: now).select(query.condition, .count, order: .any))
    }

    func plan(of compiled: SQLStatement) throws -> QueryExplanation.Plan {
        var steps: [String] = []
        var names: [String] = []
        var depths: [Int64: Int] = [:]
        // SQLite's plan depends on the values too, so they are bound.
        let statement = try connection.prepare("EXPLAIN QUERY PLAN " + compiled.text)
        statement.bind(compiled.bindings)
        while try statement.step() {
            let depth = depths[statement.int(1)].map { $0 + 1 } ?? 0
            depths[statement.int(0)] = depth
            let detail = statement.string(3)
            steps.append(String(repeating: "  ", count: depth) + detail)
            if let name = Self.indexName(in: detail), !names.contains(name) { names.append(name) }
        }
        return .init(
            sql: Self.numbered(compiled.text), parameters: compiled.bindings.map(Self.text), steps: steps,
            indexes: try names.compactMap { try description(ofIndex: $0) })
    }

    /// The index that a step names: `SEARCH o USING INDEX x_Car_price (p_price>?)`.
    private static func indexName(in detail: String) -> String? {
        let words = detail.split(separator: " ")
        guard let position = words.firstIndex(of: "INDEX"), words.indices.contains(position + 1) else { return nil }
        return String(words[position + 1])
    }

    /// Numbers the parameters. Compiled text has question marks only for parameters, since quoted names have only
    /// letters, digits and underscores.
    private static func numbered(_ sql: String) -> String {
        var number = 0
        return sql.unicodeScalars.reduce(into: "") { text, scalar in
            text.unicodeScalars.append(scalar)
            guard scalar == "?" else { return }
            number += 1
            text += String(number)
        }
    }

    /// A value as an SQL literal, cut after 80 characters.
    private static func text(_ binding: SQLBinding) -> String {
        func cut(_ text: String) -> String { text.count > 80 ? text.prefix(80) + "…" : text }
        return switch binding {
        case .null: "NULL"
        case .integer(let value): String(value)
        case .real(let value): String(value)
        case .text(let value):
            "'" + cut(value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")) + "'"
        case .blob(let value): "x'" + cut(Hexadecimal.encode(value)) + "'"
        }
    }
}
