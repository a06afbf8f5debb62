package import SluiceModel
package import SluiceQuery
package import SluiceViews

/// Compiles checked queries to SQL over the tables of ``TableLayout``.
///
/// In every statement the queried class's table has the alias ``rootAlias``. All constants are parameters.
package struct SQLCompiler: Sendable {
    /// What a statement returns for each result.
    package enum Output: Sendable {
        /// The local row id.
        case rows
        /// The given SQL expressions, which name columns of the root by its alias, such as `o."p_price"`.
        case columns([String])
        /// The values of the query's position paths, in the form of the tables.
        case positions
        /// One row with the number of results.
        case count
    }

    /// The order of the results, which also decides whether the query's limit applies.
    package enum Order: Sendable {
        /// The query's own: its sort, ties by object id, and its limit.
        case result
        /// The query's sort, ties by object id, of all matches: whatever its limit and DISTINCT.
        case match
        /// Ascending local row ids above `after`, whatever the query's sort and limit: for paging through a scan.
        case row(after: Int64)
        /// Ascending by the given columns, whatever the query's sort and limit: for paging by key.
        case key(String)
        /// None, so that SQLite chooses the best index, whatever the query's sort and limit.
        case any
    }

    /// The alias of the queried class's table.
    package static let rootAlias = "o"

    let schema: Schema
    let layout: TableLayout
    let now: Timestamp

    /// - Parameter now: the value of `$now`. A statement is of one time.
    package init(
        schema: Schema, layout: TableLayout = TableLayout(), now: Timestamp = Timestamp(microseconds: 0)
    ) {
        self.schema = schema
        self.layout = layout
        self.now = now
    }

    /// A statement that runs a query over a class.
    ///
    /// Path conditions become uncorrelated subqueries, which indexes on links can drive; under a restriction, which
    /// leaves few rows, they become lookups for each row.
    ///
    /// - Parameters:
    ///   - query: checked against this compiler's schema; never one of a single object by id.
    ///   - position: what stands at this position in the order of the query, or before it, is left out.
    ///   - restriction: a further condition on the root, such as `o._row IN (SELECT row FROM temp.members)`.
    ///   - limit: the most results, besides the query's own limit; for `.row` the size of a page.
    package func select(
        _ query: Query, _ output: Output = .rows, order: Order = .result, after position: SortPosition? = nil,
        restrictedTo restriction: SQLStatement? = nil, limit: Int? = nil
    ) -> SQLStatement {
        precondition(query.classIndex >= 0, "a query of one object by its id is a lookup, not a statement")
        let query = query.at(now)
        let root = Self.rootAlias
        var builder = SQLConditionBuilder(
            schema: schema, layout: layout,
            looksUp: restriction != nil || position != nil && query.sort.first?.path.plainProperty != nil,
            context: query.context, root: SQLConditionBuilder.Scope(alias: root, classIndex: query.classIndex))
        var statement = from(query, root, &builder)
        if case .result = order, !query.stages.isEmpty {
            let remaining = members(of: query, &builder)
            statement = "\(statement) AND \(sql: root)._row IN (SELECT _row FROM \(sql: remaining))"
        } else if case .constant(true) = query.predicate {
        } else {
            statement = "\(statement) AND (\(builder.condition(query.predicate)))"
        }
        if query.hasSection { statement = "\(statement) AND \(section(of: query, &builder))" }
        if let position {
            statement = "\(statement) AND \(side(of: position, isAfter: true, of: query, &builder))"
        }
        if let restriction { statement = "\(statement) AND (\(restriction))" }
        var rowLimit = limit
        switch order {
        case .row(let after):
            statement = "\(statement) AND \(sql: root)._row > \(.integer(after))"
            if case .count = output {} else { statement.text += " ORDER BY \(root)._row" }
        case .key(let columns): statement = "\(statement) ORDER BY \(sql: columns)"
        case .any: break
        case .match, .result:
            let isOfAll = if case .match = order { true } else { query.stages.isEmpty }
            if case .result = order { rowLimit = [limit, query.limit].compactMap { $0 }.min() }
            if case .count = output {
            } else {
                let keys = query.sort.map { ($0.path, $0.isAscending) }
                if isOfAll, let rowLimit, let bound = firstRows(rowLimit, of: query, statement, &builder) {
                    statement = "\(statement) AND \(bound)"
                }
                statement = "\(statement) ORDER BY \(self.order(of: query, by: keys, &builder))"
            }
        }
        if let rowLimit { statement = "\(statement) LIMIT \(.integer(Int64(rowLimit)))" }
        switch output {
        case .rows: statement = "SELECT \(sql: root)._row\(statement)"
        case .positions:
            var values: [SQLStatement] = []
            for path in query.positionPaths { values.append(builder.value(of: path)) }
            // A statement returns one column at least.
            let columns = values.isEmpty ? "1" : SQLStatement.joined(values, by: ", ")
            statement = "SELECT \(columns)\(statement)"
        case .columns(let columns): statement = "SELECT \(sql: columns.joined(separator: ", "))\(statement)"
        case .count where rowLimit == nil: statement = "SELECT count(*)\(statement)"
        case .count: statement = "SELECT count(*) FROM (SELECT 1\(statement))"
        }
        return builder.statement(statement)
    }

    private func from(_ query: Query, _ alias: String, _ builder: inout SQLConditionBuilder) -> SQLStatement {
        let table = layout.table(schema[query.classIndex].name)
        return " FROM \(sql: table) \(sql: alias) WHERE \(builder.isPresent(alias, query.classIndex))"
    }

    /// Adds a table expression for each stage. Returns the name of the last, whose column `_row` has the objects that
    /// the stages keep.
    private func members(of query: Query, _ builder: inout SQLConditionBuilder) -> String {
        let outer = builder.scopes
        defer { builder.scopes = outer }
        var remaining: String?
        for (index, stage) in query.stages.enumerated() {
            let alias = "s\(index + 1)"
            builder.scopes = [SQLConditionBuilder.Scope(alias: alias, classIndex: query.classIndex)]
            let condition: SQLStatement =
                remaining.map { "\(sql: alias)._row IN (SELECT _row FROM \(sql: $0))" }
                ?? "(\(builder.condition(query.predicate)))"
            let source: SQLStatement = "\(from(query, alias, &builder)) AND \(condition)"
            remaining = builder.express(members(of: query, stage, alias, source, &builder))
        }
        return remaining ?? ""
    }

    private func members(
        of query: Query, _ stage: Query.Stage, _ alias: String, _ source: SQLStatement,
        _ builder: inout SQLConditionBuilder
    ) -> SQLStatement {
        let keys = stage.order.map { (query.positionPaths[$0.position], $0.isAscending) }
        let order = order(of: query, by: keys, &builder)
        switch stage.filter {
        case .limit(let limit):
            return "SELECT \(sql: alias)._row AS _row\(source) ORDER BY \(order) LIMIT \(.integer(Int64(limit)))"
        case .distinct(let positions):
            var values: [SQLStatement] = []
            for position in positions { values.append(builder.value(of: query.positionPaths[position])) }
            return """
                SELECT _row FROM (SELECT \(sql: alias)._row AS _row, row_number() OVER (PARTITION BY \
                \(.joined(values, by: ", ")) ORDER BY \(order)) AS place\(source)) WHERE place = 1
                """
        }
    }

    /// The terms of ORDER BY: the keys, then the object id unless a key is unique.
    private func order(
        of query: Query, by keys: [(path: Query.Path, isAscending: Bool)], _ builder: inout SQLConditionBuilder
    ) -> SQLStatement {
        let declared = schema[query.classIndex]
        let root = builder.scopes[0].alias
        var terms: [SQLStatement] = []
        var isUnique = false
        for key in keys {
            let value = builder.value(of: key.path)
            terms.append(key.isAscending ? value : "\(value) DESC")
            if isPrimaryKey(key.path, of: query) { isUnique = true }
        }
        if declared.primaryKeyIndex != nil {
            if !isUnique { terms.append(SQLStatement(Self.idExpression(declared, alias: root, layout: layout))) }
        } else {
            terms.append("\(sql: root)._hi")
            terms.append("\(sql: root)._lo")
        }
        return .joined(terms, by: ", ")
    }

    /// The object id of a row of a keyed class, as an SQL expression.
    package static func idExpression(_ declared: ClassSchema, alias: String, layout: TableLayout) -> String {
        let key = declared.primaryKey.map { alias + "." + layout.column($0) } ?? "NULL"
        return "\(TableLayout.Function.id)('\(declared.name)', \(key))"
    }
}
